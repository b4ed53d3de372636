"""The scikit-learn estimator: sequences in, codes out, in pipelines and searches.

>>> from unbraid.sklearn import SequenceDisentangler
>>> SequenceDisentangler(max_minutes=1).fit_transform(X)  # doctest: +SKIP
"""

from unbraid.sklearn.estimator import SequenceDisentangler

__all__ = ["SequenceDisentangler"]
