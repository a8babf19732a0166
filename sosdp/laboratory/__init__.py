"""Sensitivities proven, refuted or undecided by the engine, and estimators made of programs with a proof."""
