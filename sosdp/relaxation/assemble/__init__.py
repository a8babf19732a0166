"""From a system and a degree to the assembled identity: plan, assemble, scale, reduce."""
