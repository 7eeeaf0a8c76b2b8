import type { FieldReader } from "../reader/field-reader.ts";
import type { KindNames } from "./definition.ts";
import { readTexts } from "./read-strings.ts";

// A DNS label that begins with a letter (RFC 1035): what Kubernetes takes in the path of a resource. Kinds are one too,
// once they are in lower case.
const LABEL = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The names of a kind. */
export function readKindNames(spec: FieldReader, field: string, needed: boolean): KindNames | undefined {
  const reader = spec.object(field);
  if (needed) spec.required(field, reader, "the kind and its plural");
  if (reader === undefined) return undefined;
  const kind = reader.text("kind", "the kind, such as XDatabase");
  const plural = reader.text("plural", "the kind's plural in lower case, such as xdatabases");
  const singular = reader.string("singular");
  const listKind = reader.string("listKind");
  const shortNames = readTexts(reader, "shortNames");
  const categories = readTexts(reader, "categories");
  reader.warnUnknown();
  for (const name of ["kind", "listKind"]) {
    const value = name === "kind" ? kind : listKind;
    if (value !== undefined && value !== "" && !LABEL.test(value.toLowerCase())) {
      reader.error("Invalid", name, "must be letters, digits and dashes, at most 63, beginning with a letter");
    }
  }
  for (const name of ["plural", "singular"]) {
    const value = name === "plural" ? plural : singular;
    if (value !== undefined && value !== "") checkLabel(reader, [name], value);
  }
  for (const [list, values] of [["shortNames", shortNames] as const, ["categories", categories] as const]) {
    for (const [index, value] of values.entries()) checkLabel(reader, [list, index], value);
  }
  if (kind !== undefined && kind === listKind) reader.error("Invalid", "listKind", "must differ from kind");
  if (kind === undefined || plural === undefined) return undefined;
  return {
    kind,
    plural,
    ...(singular !== undefined && singular !== "" && { singular }),
    ...(listKind !== undefined && listKind !== "" && { listKind }),
    shortNames,
    categories,
  };
}

function checkLabel(reader: FieldReader, steps: readonly (string | number)[], value: string): void {
  if (LABEL.test(value)) return;
  const message = "must be lower-case letters, digits and dashes, at most 63, beginning with a letter";
  reader.findings.error("Invalid", [...reader.path, ...steps], message);
}
