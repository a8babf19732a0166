from problems.gmm import *
