from problems.tuples import *
