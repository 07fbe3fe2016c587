"""From evidence to text: templates that anybody may edit, fences that nothing gets out of, a budget that is kept."""
