package match

import _ "embed" // the schema

// Schema is the JSON Schema (draft-07) of rules files, for editors. Load is what
// decides, and says more.
//
//go:embed rules.schema.json
var Schema []byte
