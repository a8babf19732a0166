from problems.gaussian import *
