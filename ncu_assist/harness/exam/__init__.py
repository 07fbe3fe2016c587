"""An exam of an untrusted draft: a trusted process sets questions and grades, a sandboxed one only answers."""
