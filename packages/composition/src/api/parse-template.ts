import { type ConnectionDetail, isObject, type ReadinessCheck } from "@xfn/functionio";
import { READINESS_CHECK_TYPES } from "../observed/readiness.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import type { NamedTemplate } from "./composition.ts";
import { readFieldPath } from "./parse-field-path.ts";
import { readPatches } from "./parse-patch.ts";
import type { PatchSet } from "./template.ts";

/** The `patchSets` of a Composition's spec. */
export function readPatchSets(spec: FieldReader): PatchSet[] {
  const sets: PatchSet[] = [];
  const names = new Set<string>();
  for (const reader of spec.objects("patchSets")) {
    const name = reader.required("name", reader.string("name"), "the name by which patches refer to this set");
    const patches = readPatches(reader, "patchSet", spec.value("environment") !== undefined);
    reader.warnUnknown();
    if (name === undefined) continue;
    if (names.has(name)) reader.warning("Duplicate", "name", "replaces the patch set of this name above");
    names.add(name);
    sets.push({ name, patches });
  }
  return sets;
}

/**
 * The templates of a Composition's spec.
 *
 * @param field what they are written under: `resources`, or `to` (seed 004)
 */
export function readTemplates(spec: FieldReader, field: string, patchSets: readonly PatchSet[]): NamedTemplate[] {
  const hasFunctions = Array.isArray(spec.value("functions")) && (spec.value("functions") as unknown[]).length > 0;
  const names = new TemplateNames(hasFunctions);
  const sets = new Set(patchSets.map((set) => set.name));
  const hasEnvironment = spec.value("environment") !== undefined;
  const templates: NamedTemplate[] = [];
  for (const [index, reader] of spec.objects(field).entries()) {
    names.check(reader, index);
    const template = readTemplate(reader, index, sets, hasEnvironment);
    if (template !== undefined) templates.push(template);
  }
  return templates;
}

/**
 * Either all templates have names, unique ones, or none has: a template that was added at the front without a name would
 * otherwise take the place, and the object, of another.
 */
class TemplateNames {
  readonly #hasFunctions: boolean;
  readonly #seen: Map<string, number> = new Map();

  constructor(hasFunctions: boolean) {
    this.#hasFunctions = hasFunctions;
  }

  check(reader: FieldReader, index: number): void {
    const name = reader.string("name") ?? "";
    // A name of another type than text is already reported, once.
    if (name === "" && typeof (reader.value("name") ?? "") !== "string") return;
    if (name === "") {
      if (this.#hasFunctions) {
        reader.error(
          "Required",
          "name",
          "is missing; with functions every template needs a name, by which they know it",
        );
      } else if (this.#seen.size > 0) {
        reader.error("Required", "name", "is missing; either all templates have names or none has");
      }
      return;
    }
    const first = this.#seen.get(name);
    if (first !== undefined) {
      reader.error(
        "Duplicate",
        "name",
        `${JSON.stringify(name.slice(0, 64))} is also the name of template ${first}; names are unique`,
      );
    } else if (index > 0 && this.#seen.size === 0) {
      reader.error("Invalid", "name", "either all templates have names or none has, and those before have none");
    } else this.#seen.set(name, index);
  }
}

function readTemplate(
  reader: FieldReader,
  index: number,
  sets: ReadonlySet<string>,
  hasEnvironment: boolean,
): NamedTemplate | undefined {
  const base = readBase(reader);
  const patches = readPatches(reader, "template", hasEnvironment);
  for (const [patchIndex, patch] of patches.entries()) {
    if (patch.type !== "PatchSet" || sets.has(patch.patchSetName ?? "")) continue;
    const path = [...reader.at("patches"), patchIndex, "patchSetName"];
    reader.findings.warning("Invalid", path, "there is no patch set of this name; every run fails");
  }
  const connectionDetails = readConnectionDetails(reader);
  const readinessChecks = readReadinessChecks(reader);
  const name = reader.value("name");
  reader.warnUnknown();
  if (base === undefined) return undefined;
  return {
    name: typeof name === "string" && name !== "" ? name : `template-${index}`,
    base,
    ...(patches.length > 0 && { patches }),
    ...(connectionDetails.length > 0 && { connectionDetails }),
    ...(readinessChecks.length > 0 && { readinessChecks }),
  };
}

function readBase(reader: FieldReader): NamedTemplate["base"] | undefined {
  const base = reader.object("base");
  if (base === undefined) {
    reader.required("base", base, "the object to compose, before patches");
    return undefined;
  }
  for (const field of ["apiVersion", "kind"]) {
    if ((base.string(field) ?? "") !== "" || typeof (base.value(field) ?? "") !== "string") continue;
    base.warning("Required", field, "is missing; a Kubernetes API server refuses a base without it");
  }
  const metadata = base.value("metadata");
  if (metadata !== undefined && !isObject(metadata)) base.error("Invalid", "metadata", "is not an object");
  return base.json;
}

function readConnectionDetails(reader: FieldReader): ConnectionDetail[] {
  return reader.objects("connectionDetails").map((detail) => {
    const type =
      detail.oneOf("type", ["FromConnectionSecretKey", "FromFieldPath", "FromValue"]) ?? inferredType(detail);
    const field = { FromValue: "value", FromFieldPath: "fromFieldPath" }[type] ?? "fromConnectionSecretKey";
    for (const one of ["name", "value", "fromConnectionSecretKey"]) detail.string(one);
    readFieldPath(detail, "fromFieldPath");
    // The reference accepts these, and publishes no details of the resource then.
    if (detail.value(field) === undefined) {
      detail.warning("Required", field, `is missing; a detail of type ${type} needs it`);
    } else if (type !== "FromConnectionSecretKey" && (detail.value("name") ?? "") === "") {
      detail.warning("Required", "name", `is missing; a detail of type ${type} needs it`);
    }
    detail.warnUnknown();
    return detail.json;
  });
}

function inferredType(detail: FieldReader): string {
  if (detail.value("value") !== undefined) return "FromValue";
  const fromField =
    detail.value("fromConnectionSecretKey") === undefined && detail.value("fromFieldPath") !== undefined;
  return fromField ? "FromFieldPath" : "FromConnectionSecretKey";
}

function readReadinessChecks(reader: FieldReader): ReadinessCheck[] {
  return reader.objects("readinessChecks").map((check) => {
    checkReadiness(check);
    return check.json as ReadinessCheck;
  });
}

/** What is empty counts as missing here, as in Crossplane: a template cannot match the empty string or 0. */
function checkReadiness(check: FieldReader): void {
  const type = check.string("type") ?? "";
  if (!(READINESS_CHECK_TYPES as readonly string[]).includes(type)) {
    if (typeof (check.value("type") ?? "") !== "string") return;
    if (type !== "") check.notOneOf("type", type, READINESS_CHECK_TYPES);
    else check.error("Invalid", "type", `is missing; give one of ${READINESS_CHECK_TYPES.join(", ")}`);
    return;
  }
  const matchString = check.string("matchString");
  const matchInteger = check.integer("matchInteger");
  if (type === "MatchString" && !matchString) {
    check.error("Required", "matchString", "is missing or empty; give the text to match");
  } else if (type === "MatchInteger" && !matchInteger) {
    check.error("Required", "matchInteger", "is missing or 0; give the number to match");
  } else if (type === "MatchCondition") checkMatchCondition(check);
  const fieldPath = readFieldPath(check, "fieldPath");
  if (
    type !== "None" &&
    type !== "MatchCondition" &&
    !fieldPath &&
    typeof (check.value("fieldPath") ?? "") === "string"
  ) {
    check.error("Required", "fieldPath", "is missing; give the field to look at");
  }
  check.value("matchCondition");
  check.warnUnknown();
}

function checkMatchCondition(check: FieldReader): void {
  const condition = check.object("matchCondition");
  if (condition === undefined) {
    if (check.value("matchCondition") !== undefined) return;
    check.warning("Required", "matchCondition", "is missing; every run fails without it; give its type and status");
    return;
  }
  condition.text("type", "the condition's type, such as Ready");
  condition.text("status", "the condition's status: True, False or Unknown");
  condition.warnUnknown();
}
