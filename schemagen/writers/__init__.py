"""Values of a type as texts other than JSON: constructor calls, YAML, XML, tables; rules that say them, and readers."""
