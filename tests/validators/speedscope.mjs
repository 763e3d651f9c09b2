// Checks a document against the schema that speedscope ships, and prints what each of its profiles adds up to.
//   node speedscope.mjs MODULES DOCUMENT
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, document] = process.argv.slice(2);
const Ajv = createRequire(`${modules}/`)('ajv');
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
// The schema has keywords of the generator that made it.
const validate = new Ajv({ strict: false }).compile(read(`${modules}/speedscope/dist/release/file-format-schema.json`));
const profile = read(document);
if (!validate(profile)) {
  console.error(JSON.stringify(validate.errors, null, 1));
  process.exit(1);
}
for (const { name, weights } of profile.profiles) {
  console.log(name, weights.reduce((sum, weight) => sum + weight, 0));
}
