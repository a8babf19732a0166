from problems.sbm import *
