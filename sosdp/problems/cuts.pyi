from problems.cuts import *
