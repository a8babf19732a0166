from problems.mrf import *
