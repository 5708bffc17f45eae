"""Tables and the public facts about them: schema, bounds, domains, samples."""
