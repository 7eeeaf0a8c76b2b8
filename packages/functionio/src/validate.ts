import { API_VERSION, KIND } from "./functionio.ts";
import { isObject, type JsonObject, type JsonPath, type JsonValue, kindOf } from "./json-value.ts";

/** A problem at a path. */
export interface Finding {
  path: JsonPath;
  message: string;
}

/** How strict to be about what a FunctionIO must have. */
export interface ValidateOptions {
  /** Accept a FunctionIO without `apiVersion` and `kind`: Crossplane 1.11 to 1.13 sent it so. */
  untyped?: boolean;
}

/**
 * Checks a parsed value against the FunctionIO of seed 000 and brings it into the form that the types promise, in place:
 * what is null where an object or list belongs is left out (Go prints empty fields so), a missing `observed` becomes `{}`.
 * Only `desired.resources[].resource` has a meaning as null. Fields that are not known are left alone.
 */
export function validateFunctionIO(value: JsonValue, options: ValidateOptions = {}): Finding[] {
  const check = new Check();
  if (!isObject(value)) {
    check.add([], `expected a FunctionIO object, found ${kindOf(value)}`);
    return check.findings;
  }
  if (options.untyped === true && value["apiVersion"] === undefined && value["kind"] === undefined) {
    value["apiVersion"] = API_VERSION;
    value["kind"] = KIND;
  }
  check.constant(value, [], "apiVersion", API_VERSION);
  check.constant(value, [], "kind", KIND);
  check.object(value, [], "config");
  const observed = check.object(value, [], "observed");
  if (observed === undefined) value["observed"] = newObject();
  else {
    checkComposite(check, observed, ["observed"]);
    checkResources(check, observed, ["observed"], checkObserved);
  }
  const desired = check.object(value, [], "desired");
  if (desired !== undefined) {
    checkComposite(check, desired, ["desired"]);
    checkResources(check, desired, ["desired"], checkDesired);
  }
  check.list(value, [], "results", (result, path) => {
    // A severity that is not known, or not given, counts as a Warning.
    if (check.text(result, path, "severity") === undefined) result["severity"] = "Warning";
    check.required(result, path, "message");
    check.text(result, path, "message");
  });
  return check.findings;
}

function checkComposite(check: Check, state: JsonObject, at: JsonPath): void {
  const composite = check.object(state, at, "composite");
  if (composite === undefined) return;
  const path = [...at, "composite"];
  checkKubernetes(check, check.object(composite, path, "resource"), [...path, "resource"]);
  check.list(composite, path, "connectionDetails", (detail, here) => checkExplicit(check, detail, here));
}

function checkResources(
  check: Check,
  state: JsonObject,
  at: JsonPath,
  each: (check: Check, entry: JsonObject, path: JsonPath) => void,
): void {
  const names = new Map<string, number>();
  check.list(state, at, "resources", (entry, path) => {
    const name = check.required(entry, path, "name") ? check.text(entry, path, "name") : undefined;
    if (name !== undefined) {
      if (name === "") check.add([...path, "name"], "must not be empty");
      const first = names.get(name);
      if (first === undefined) names.set(name, path.at(-1) as number);
      else check.add([...path, "name"], `"${name}" is also the name of resources[${first}]; names must be unique`);
    }
    each(check, entry, path);
  });
}

function checkObserved(check: Check, entry: JsonObject, path: JsonPath): void {
  if (check.required(entry, path, "resource")) {
    checkKubernetes(check, check.object(entry, path, "resource"), [...path, "resource"]);
  }
  check.list(entry, path, "connectionDetails", (detail, here) => checkExplicit(check, detail, here));
}

function checkDesired(check: Check, entry: JsonObject, path: JsonPath): void {
  const { resource } = entry as { resource?: JsonValue };
  if (resource === undefined) check.add([...path, "resource"], "is missing; give an object, or null to delete the resource");
  else if (resource !== null) checkKubernetes(check, check.object(entry, path, "resource"), [...path, "resource"]);
  check.list(entry, path, "connectionDetails", (detail, here) => checkDerived(check, detail, here));
  check.list(entry, path, "readinessChecks", (readiness, here) => checkReadiness(check, readiness, here));
}

function checkKubernetes(check: Check, resource: JsonObject | undefined, path: JsonPath): void {
  if (resource === undefined) return;
  check.text(resource, path, "apiVersion");
  check.text(resource, path, "kind");
  const metadata = check.object(resource, path, "metadata");
  if (metadata === undefined) return;
  const at = [...path, "metadata"];
  for (const field of ["name", "generateName", "namespace", "uid"]) check.text(metadata, at, field);
  for (const field of ["labels", "annotations"]) {
    const map = check.object(metadata, at, field);
    for (const key in map) check.text(map, [...at, field], key);
  }
}

function checkExplicit(check: Check, detail: JsonObject, path: JsonPath): void {
  for (const field of ["name", "value"]) if (check.required(detail, path, field)) check.text(detail, path, field);
  const type = check.text(detail, path, "type");
  if (type !== undefined && type !== "FromValue") {
    check.add([...path, "type"], `"${type}" is not possible here; the connection details of a composite are values`);
  }
}

const DETAIL_FIELDS: ReadonlyMap<string, string> = new Map([
  ["FromConnectionSecretKey", "fromConnectionSecretKey"],
  ["FromFieldPath", "fromFieldPath"],
  ["FromValue", "value"],
]);

function checkDerived(check: Check, detail: JsonObject, path: JsonPath): void {
  const set: string[] = [];
  for (const field of DETAIL_FIELDS.values()) if (check.text(detail, path, field) !== undefined) set.push(field);
  const name = check.text(detail, path, "name");
  let type = check.text(detail, path, "type");
  if (type === undefined) {
    if (set.length !== 1) {
      const found = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
      check.add(path, `needs one of ${[...DETAIL_FIELDS.values()].join(", ")}, or a type that says which; ${found}`);
      return;
    }
    type = [...DETAIL_FIELDS].find(([, field]) => field === set[0])?.[0];
  }
  const field = DETAIL_FIELDS.get(type ?? "");
  if (field === undefined) {
    check.add([...path, "type"], `"${type}" is not one of ${[...DETAIL_FIELDS.keys()].join(", ")}`);
    return;
  }
  if (!set.includes(field)) check.add([...path, field], `is missing; type ${type} needs it`);
  if (name === undefined && type !== "FromConnectionSecretKey") {
    check.add([...path, "name"], `is missing; only a ${"FromConnectionSecretKey"} detail has a default name`);
  }
}

const READINESS_FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ["NonEmpty", ["fieldPath"]],
  ["MatchString", ["fieldPath", "matchString"]],
  ["MatchInteger", ["fieldPath", "matchInteger"]],
  ["MatchTrue", ["fieldPath"]],
  ["MatchFalse", ["fieldPath"]],
  ["MatchCondition", ["matchCondition"]],
  ["None", []],
]);

function checkReadiness(check: Check, readiness: JsonObject, path: JsonPath): void {
  if (!check.required(readiness, path, "type")) return;
  const type = check.text(readiness, path, "type");
  if (type === undefined) return;
  const fields = READINESS_FIELDS.get(type);
  if (fields === undefined) {
    check.add([...path, "type"], `"${type}" is not one of ${[...READINESS_FIELDS.keys()].join(", ")}`);
    return;
  }
  for (const field of ["fieldPath", "matchString"]) check.text(readiness, path, field);
  const integer = readiness["matchInteger"];
  if (integer !== undefined && typeof integer !== "bigint" && !Number.isInteger(integer)) {
    check.add([...path, "matchInteger"], `expected an integer, found ${kindOf(integer)}`);
  }
  const condition = check.object(readiness, path, "matchCondition");
  if (condition !== undefined) {
    const at = [...path, "matchCondition"];
    for (const field of ["type", "status"]) if (check.required(condition, at, field)) check.text(condition, at, field);
  }
  for (const field of fields) {
    if (readiness[field] === undefined) check.add([...path, field], `is missing; type ${type} needs it`);
  }
}

function newObject(): JsonObject {
  return Object.setPrototypeOf({}, null) as JsonObject;
}

class Check {
  readonly findings: Finding[] = [];

  add(path: JsonPath, message: string): void {
    this.findings.push({ path, message });
  }

  required(object: JsonObject, at: JsonPath, field: string): boolean {
    if (object[field] !== undefined && object[field] !== null) return true;
    this.add([...at, field], "is missing");
    return false;
  }

  constant(object: JsonObject, at: JsonPath, field: string, expected: string): void {
    const value = object[field];
    if (value === expected) return;
    const found = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
    this.add([...at, field], `expected ${JSON.stringify(expected)}, found ${found}`);
  }

  text(object: JsonObject, at: JsonPath, field: string): string | undefined {
    const value = object[field];
    if (typeof value === "string" || value === undefined) return value;
    if (value === null) {
      delete object[field];
      return undefined;
    }
    const advice = typeof value === "object" ? "" : "; quote it";
    this.add([...at, field], `expected a string, found ${kindOf(value)}${advice}`);
    return undefined;
  }

  object(object: JsonObject, at: JsonPath, field: string): JsonObject | undefined {
    const value = object[field];
    if (value === undefined) return undefined;
    if (value === null) {
      delete object[field];
      return undefined;
    }
    if (isObject(value)) return value;
    this.add([...at, field], `expected an object, found ${kindOf(value)}`);
    return undefined;
  }

  list(object: JsonObject, at: JsonPath, field: string, each: (item: JsonObject, path: JsonPath) => void): void {
    const value = object[field];
    if (value === undefined) return;
    if (value === null) {
      delete object[field];
      return;
    }
    if (!Array.isArray(value)) {
      this.add([...at, field], `expected a list, found ${kindOf(value)}`);
      return;
    }
    for (const [index, item] of value.entries()) {
      const path = [...at, field, index];
      if (isObject(item)) each(item, path);
      else this.add(path, `expected an object, found ${kindOf(item)}`);
    }
  }
}
