import type { ConnectionDetail } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import type { Finding } from "../reader/composition-error.ts";
import { Findings } from "../reader/field-reader.ts";
import type { Composition } from "./composition.ts";
import { documentOf } from "./parse-composition.ts";

/**
 * Compares a Composition's connection details with the keys of its definition. Exactly one resource must expose each
 * key. With functions, which can expose keys too, a missing key is a warning. A detail without a key is a warning,
 * because it is not published. A definition without keys allows all details.
 *
 * @param document the text of the Composition, for lines and columns
 */
export function checkConnectionKeys(
  composition: Composition,
  keys: readonly string[],
  document?: ParsedDocument,
): Finding[] {
  const { spec } = composition;
  if (keys.length === 0 || spec.mode === "Pipeline") return [];
  const findings = new Findings(document ?? documentOf({}));
  const field = spec.resourcesField ?? "resources";
  const known = new Set(keys);
  const exposed = new Map<string, string>();
  for (const [index, template] of spec.resources.entries()) {
    for (const [detailIndex, detail] of (template.connectionDetails ?? []).entries()) {
      const name = detailName(detail);
      // A detail without a name is not published. `parseComposition` warns of it.
      if (name === undefined) continue;
      const path = ["spec", field, index, "connectionDetails", detailIndex];
      const title = JSON.stringify(name.slice(0, 64));
      const first = exposed.get(name);
      if (!known.has(name)) {
        findings.warning(
          "Ignored",
          path,
          `${title} is not among the definition's connection keys: it is not published`,
        );
      } else if (first !== undefined) {
        findings.error("Duplicate", path, `${title} is exposed by the template ${first} already; expose it once`);
      } else exposed.set(name, JSON.stringify(template.name.slice(0, 64)));
    }
  }
  for (const key of known) {
    if (exposed.has(key)) continue;
    const message = `no resource exposes the connection key ${JSON.stringify(key)} of the definition`;
    if (spec.functions.length > 0)
      findings.warning("Required", ["spec", field], `${message}; a function must expose it`);
    else findings.error("Required", ["spec", field], `${message}; add it to the connectionDetails of one`);
  }
  return findings.sorted();
}

function detailName(detail: ConnectionDetail): string | undefined {
  const name = detail.name ?? undefined;
  if (name !== undefined && name !== "") return name;
  const fromKey = detail.type === undefined ? (detail.value ?? undefined) === undefined : false;
  return fromKey || detail.type === "FromConnectionSecretKey"
    ? (detail.fromConnectionSecretKey ?? undefined)
    : undefined;
}
