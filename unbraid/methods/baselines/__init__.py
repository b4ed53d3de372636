"""The systems the papers compare with: one paper, one file; the catalogue lies one room up."""
