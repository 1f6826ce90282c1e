"""Two searches over a tree's depth, as objects of a module: which depth is best?"""

from scipy.stats import randint
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.tree import DecisionTreeClassifier

grid = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 5]}, cv=3)
drawn = RandomizedSearchCV(DecisionTreeClassifier(), {"max_depth": randint(1, 9)}, n_iter=4, cv=3)
