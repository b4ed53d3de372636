"""What `unbraid data check` looks for."""
