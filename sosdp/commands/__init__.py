"""The commands behind `sosdp`: one module each, imported when it is run."""
