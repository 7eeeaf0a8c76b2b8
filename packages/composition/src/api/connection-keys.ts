import type { ParsedDocument } from "@xfn/json/document";
import type { Finding } from "../reader/composition-error.ts";
import { Findings } from "../reader/field-reader.ts";
import type { Composition } from "./composition.ts";
import { connectionDetailName } from "./detail-names.ts";
import { documentOf } from "./parse-composition.ts";
import { isComplete } from "./steps.ts";

/**
 * Compares a Composition's connection details with the keys of its definition. Exactly one resource must expose each
 * key. Functions can expose keys too: a key that neither templates nor functions expose is a warning, and needs the
 * result of a run. A detail without a key is a warning, because it is not published. A definition without keys allows
 * all details.
 *
 * @param document the text of the Composition, for lines and columns
 * @param exposed the names that the functions of a run exposed; absent before a run, when they are unknown
 */
export function checkConnectionKeys(
  composition: Composition,
  keys: readonly string[],
  document?: ParsedDocument,
  exposed?: readonly string[],
): Finding[] {
  const { spec } = composition;
  if (keys.length === 0 || isComplete(composition)) return [];
  const findings = new Findings(document ?? documentOf({}));
  const field = spec.resourcesField ?? "resources";
  const known = new Set(keys);
  const templates = new Map<string, string>();
  for (const [index, template] of spec.resources.entries()) {
    for (const [detailIndex, detail] of (template.connectionDetails ?? []).entries()) {
      const name = connectionDetailName(detail);
      // A detail without a name is not published. `parseComposition` warns of it.
      if (name === undefined) continue;
      const path = ["spec", field, index, "connectionDetails", detailIndex];
      const title = quoted(name);
      const first = templates.get(name);
      if (!known.has(name)) {
        findings.warning(
          "Ignored",
          path,
          `${title} is not among the definition's connection keys: it is not published`,
        );
      } else if (first !== undefined) {
        findings.error("Duplicate", path, `${title} is exposed by the template ${first} already; expose it once`);
      } else templates.set(name, quoted(template.name));
    }
  }
  const withFunctions = spec.functions.length > 0;
  for (const name of exposed ?? []) {
    if (known.has(name)) continue;
    const message = `${quoted(name)} of a function is not among the definition's connection keys: it is not published`;
    findings.warning("Ignored", ["spec", "functions"], message);
  }
  // Before a run, any function may expose the key.
  if (withFunctions && exposed === undefined) return findings.sorted();
  const given = new Set(exposed);
  for (const key of known) {
    if (templates.has(key) || given.has(key)) continue;
    const title = quoted(key);
    if (withFunctions) {
      const message = `neither a resource nor a function exposes the connection key ${title} of the definition`;
      findings.warning("Required", ["spec", field], message);
    } else {
      const message = `no resource exposes the connection key ${title} of the definition`;
      findings.error("Required", ["spec", field], `${message}; add it to the connectionDetails of one`);
    }
  }
  return findings.sorted();
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
