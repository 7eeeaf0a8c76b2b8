import type { FieldReader } from "../reader/field-reader.ts";
import { readFieldPath, readTargetPath } from "./parse-field-path.ts";
import { checkTransforms } from "./parse-transform.ts";
import type { Patch, PatchType } from "./template.ts";

const PATCH_TYPES: readonly PatchType[] = [
  "FromCompositeFieldPath",
  "ToCompositeFieldPath",
  "CombineFromComposite",
  "CombineToComposite",
  "FromEnvironmentFieldPath",
  "ToEnvironmentFieldPath",
  "CombineFromEnvironment",
  "CombineToEnvironment",
  "PatchSet",
];

/** What the patches of a list may be. */
export type PatchPlace = "template" | "patchSet" | "environment";

/**
 * The patches of an object. Those with errors are left out; the errors are noted.
 *
 * @param hasEnvironment whether there is an environment to patch from and to
 */
export function readPatches(owner: FieldReader, place: PatchPlace, hasEnvironment: boolean): Patch[] {
  const patches: Patch[] = [];
  for (const reader of owner.objects("patches")) {
    const { errors } = reader.findings;
    const type = readType(reader, place);
    if (type !== undefined) checkPatch(reader, type);
    if (reader.findings.errors > errors || type === undefined) continue;
    if (!hasEnvironment && type.includes("Environment")) {
      reader.warning("Ignored", "type", "has no effect: the Composition has no spec.environment");
    }
    // The engine, like the reference's, passes over a patch without a type: the default is filled in where it is read.
    patches.push(reader.json["type"] === type ? reader.json : { ...reader.json, type });
  }
  return patches;
}

function readType(reader: FieldReader, place: PatchPlace): PatchType | undefined {
  const type = (reader.string("type") || "FromCompositeFieldPath") as PatchType;
  if (typeof (reader.value("type") ?? "") !== "string") return undefined;
  if (place === "patchSet" && type === "PatchSet") {
    reader.error("Invalid", "type", "a patch set cannot contain a PatchSet; write the patches themselves");
    return undefined;
  }
  const known = place === "environment" ? PATCH_TYPES.slice(0, 4) : PATCH_TYPES;
  if (known.includes(type)) return type;
  reader.notOneOf("type", type, known);
  return undefined;
}

function checkPatch(reader: FieldReader, type: PatchType): void {
  if (type === "PatchSet") reader.required("patchSetName", reader.string("patchSetName"), "the name of a patch set");
  else if (type.startsWith("Combine")) checkCombine(reader);
  else {
    reader.required("fromFieldPath", readFieldPath(reader, "fromFieldPath"), "the field to copy");
    warnOfWildcard(reader, "fromFieldPath");
    readTargetPath(reader, "toFieldPath");
  }
  checkTransforms(reader);
  checkPolicy(reader);
  for (const field of ["fromFieldPath", "toFieldPath", "combine", "patchSetName"]) reader.value(field);
  reader.warnUnknown();
}

function checkCombine(reader: FieldReader): void {
  const combine = reader.object("combine");
  reader.required("combine", combine, "what to combine");
  reader.required("toFieldPath", readTargetPath(reader, "toFieldPath"), "the field to write to");
  warnOfWildcard(reader, "toFieldPath");
  if (combine === undefined) return;
  combine.oneOf("strategy", ["string"]);
  const variables = combine.objects("variables");
  for (const variable of variables) {
    readFieldPath(variable, "fromFieldPath");
    warnOfWildcard(variable, "fromFieldPath");
    variable.warnUnknown();
  }
  const string = combine.object("string");
  string?.string("fmt");
  string?.warnUnknown();
  // The reference accepts these, and fails in every run.
  for (const [field, value, what] of [
    ["strategy", combine.value("strategy"), "string, the only one there is"],
    ["variables", variables[0], "the fields to combine"],
    ["string", combine.value("string"), "how to combine, as string.fmt"],
  ] as const) {
    if (value === undefined) combine.warning("Required", field, `every run fails without it; give ${what}`);
  }
  combine.warnUnknown();
}

/** Where a path has no wildcards, `*` is the name of a field, which hardly any object has. */
function warnOfWildcard(reader: FieldReader, field: string): void {
  const path = reader.value(field);
  if (typeof path !== "string" || !path.includes("[*]")) return;
  const where = "wildcards work in the toFieldPath of patches that are no Combine";
  reader.warning("Invalid", field, `[*] means a field called * here, not each item; ${where}`);
}

function checkPolicy(reader: FieldReader): void {
  const policy = reader.object("policy");
  if (policy === undefined) return;
  policy.oneOf("fromFieldPath", ["Optional", "Required"]);
  const merge = policy.object("mergeOptions");
  merge?.boolean("keepMapValues");
  merge?.boolean("appendSlice");
  merge?.warnUnknown();
  policy.warnUnknown();
}
