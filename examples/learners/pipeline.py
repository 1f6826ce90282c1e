"""Scale, keep the two best features, classify: a pipeline as an object of a module."""

from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pipeline = make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())
