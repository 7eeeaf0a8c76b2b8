import { isObject, type JsonObject, type JsonPath, type JsonValue, kindOf, MAX_ISSUES } from "@xfn/json/sdk";
import { API_VERSION, KIND } from "./functionio.ts";

/** A problem at a path. */
export interface Finding {
  path: JsonPath;
  message: string;
}

/** How strictly to check required fields. */
export interface ValidateOptions {
  /** Accept a FunctionIO without `apiVersion` and `kind`, as Crossplane 1.11 to 1.13 sent it. */
  untyped?: boolean;
}

/**
 * Checks a parsed FunctionIO and brings it into the form of the types, in place. A null instead of a string, an object
 * or a list is removed, because Go prints empty fields as null. A missing `observed` becomes `{}`. Only
 * `desired.resources[].resource` has a meaning as null. Unknown fields stay.
 */
export function validateFunctionIO(value: JsonValue, options: ValidateOptions = {}): Finding[] {
  const check = new Check();
  if (!isObject(value)) {
    check.add(`expected a FunctionIO object, found ${kindOf(value)}`);
    return check.findings;
  }
  if (options.untyped === true && value["apiVersion"] === undefined && value["kind"] === undefined) {
    value["apiVersion"] = API_VERSION;
    value["kind"] = KIND;
  }
  check.constant(value, "apiVersion", API_VERSION);
  check.constant(value, "kind", KIND);
  check.object(value, "config");
  check.object(value, "context");
  if (value["observed"] === undefined || value["observed"] === null) {
    value["observed"] = Object.setPrototypeOf({}, null) as JsonObject;
  }
  check.object(value, "observed", (observed) => {
    checkComposite(check, observed);
    checkResources(check, observed, checkObserved);
  });
  check.object(value, "desired", (desired) => {
    checkComposite(check, desired);
    checkResources(check, desired, checkDesired);
  });
  check.list(value, "results", (result) => {
    // An unknown or missing severity means Warning.
    if (check.text(result, "severity") === undefined && result["severity"] === undefined)
      result["severity"] = "Warning";
    check.requiredText(result, "message");
  });
  return check.findings;
}

function checkComposite(check: Check, state: JsonObject): void {
  check.object(state, "composite", (composite) => {
    check.object(composite, "resource", (resource) => checkKubernetes(check, resource));
    check.list(composite, "connectionDetails", (detail) => checkExplicit(check, detail));
  });
}

function checkResources(check: Check, state: JsonObject, each: (check: Check, entry: JsonObject) => void): void {
  const names = new Map<string, number>();
  check.list(state, "resources", (entry, index) => {
    const name = check.requiredText(entry, "name");
    if (name !== undefined) {
      const first = names.get(name);
      if (name === "") check.at("name", "must not be empty");
      else if (first === undefined) names.set(name, index);
      else check.at("name", `"${name}" is also the name of resources[${first}]; names must be unique`);
    }
    each(check, entry);
  });
}

function checkObserved(check: Check, entry: JsonObject): void {
  if (check.required(entry, "resource"))
    check.object(entry, "resource", (resource) => checkKubernetes(check, resource));
  check.list(entry, "connectionDetails", (detail) => checkExplicit(check, detail));
}

function checkDesired(check: Check, entry: JsonObject): void {
  const resource = entry["resource"];
  if (resource === undefined) check.at("resource", "is missing; give an object, or null to delete the resource");
  else if (resource !== null) check.object(entry, "resource", (object) => checkKubernetes(check, object));
  check.list(entry, "connectionDetails", (detail) => checkDerived(check, detail));
  check.list(entry, "readinessChecks", (readiness) => checkReadiness(check, readiness));
}

const METADATA_TEXTS = ["name", "generateName", "namespace", "uid"];
const METADATA_MAPS = ["labels", "annotations"];

/** Checks the fields of an object that this project reads. */
export function checkKubernetes(check: Check, resource: JsonObject): void {
  check.text(resource, "apiVersion");
  check.text(resource, "kind");
  check.object(resource, "metadata", (metadata) => {
    for (const field of METADATA_TEXTS) check.text(metadata, field);
    for (const field of METADATA_MAPS) {
      check.object(metadata, field, (map) => {
        for (const key in map) check.text(map, key);
      });
    }
  });
}

function checkExplicit(check: Check, detail: JsonObject): void {
  check.requiredText(detail, "name");
  check.requiredText(detail, "value");
  const type = check.text(detail, "type");
  if (type !== undefined && type !== "FromValue") {
    check.at("type", `"${type}" is not possible here; these connection details have values`);
  }
}

const DETAIL_FIELDS: ReadonlyMap<string, string> = new Map([
  ["FromConnectionSecretKey", "fromConnectionSecretKey"],
  ["FromFieldPath", "fromFieldPath"],
  ["FromValue", "value"],
]);

function checkDerived(check: Check, detail: JsonObject): void {
  const set: string[] = [];
  for (const field of DETAIL_FIELDS.values()) if (check.text(detail, field) !== undefined) set.push(field);
  const name = check.text(detail, "name");
  let type = check.text(detail, "type");
  if (type === undefined) {
    if (set.length !== 1) {
      const found = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
      check.add(`needs one of ${[...DETAIL_FIELDS.values()].join(", ")}, or a type that says which; ${found}`);
      return;
    }
    type = [...DETAIL_FIELDS].find(([, field]) => field === set[0])?.[0];
  }
  const field = DETAIL_FIELDS.get(type ?? "");
  if (field === undefined) {
    check.at("type", `"${type}" is not one of ${[...DETAIL_FIELDS.keys()].join(", ")}`);
    return;
  }
  if (!set.includes(field)) check.at(field, `is missing; type ${type} needs it`);
  if (name === undefined && type !== "FromConnectionSecretKey") {
    check.at("name", "is missing; only the name of a FromConnectionSecretKey detail defaults to its key");
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

function checkReadiness(check: Check, readiness: JsonObject): void {
  const type = check.requiredText(readiness, "type");
  if (type === undefined) return;
  const fields = READINESS_FIELDS.get(type);
  if (fields === undefined) {
    check.at("type", `"${type}" is not one of ${[...READINESS_FIELDS.keys()].join(", ")}`);
    return;
  }
  check.text(readiness, "fieldPath");
  check.text(readiness, "matchString");
  const integer = readiness["matchInteger"];
  if (integer === null) delete readiness["matchInteger"];
  else if (integer !== undefined && typeof integer !== "bigint" && !Number.isInteger(integer)) {
    check.at("matchInteger", `expected an integer, found ${kindOf(integer)}`);
  }
  check.object(readiness, "matchCondition", (condition) => {
    check.requiredText(condition, "type");
    check.requiredText(condition, "status");
  });
  for (const field of fields) {
    if (readiness[field] === undefined) check.at(field, `is missing; type ${type} needs it`);
  }
}

const UNNAMED: Finding = { path: [], message: "is one of many problems" };

/** Collects findings and tracks the current path. It copies the path only for a finding. */
export class Check {
  readonly findings: Finding[] = [];
  readonly #path: (string | number)[] = [];

  /** Adds a finding about the current object. */
  add(message: string): void {
    this.#find(this.#path, message);
  }

  /** Adds a finding about a field of the current object. */
  at(field: string, message: string): void {
    this.#find([...this.#path, field], message);
  }

  /** Findings above the bound are only counted: a function can return a million of them. */
  #find(path: JsonPath, message: string): void {
    this.findings.push(this.findings.length < MAX_ISSUES ? { path: [...path], message } : UNNAMED);
  }

  required(object: JsonObject, field: string): boolean {
    if (object[field] !== undefined && object[field] !== null) return true;
    this.at(field, "is missing");
    return false;
  }

  requiredText(object: JsonObject, field: string): string | undefined {
    return this.required(object, field) ? this.text(object, field) : undefined;
  }

  constant(object: JsonObject, field: string, expected: string): void {
    const value = object[field];
    if (value === expected) return;
    const found = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
    this.at(field, `expected ${JSON.stringify(expected)}, found ${found}`);
  }

  text(object: JsonObject, field: string): string | undefined {
    const value = object[field];
    if (typeof value === "string" || value === undefined) return value;
    if (value === null) delete object[field];
    else this.at(field, `expected a string, found ${kindOf(value)}${typeof value === "object" ? "" : "; quote it"}`);
    return undefined;
  }

  object(object: JsonObject, field: string, inside?: (value: JsonObject) => void): void {
    const value = object[field];
    if (value === undefined) return;
    if (value === null) delete object[field];
    else if (!isObject(value)) this.at(field, `expected an object, found ${kindOf(value)}`);
    else if (inside !== undefined) {
      this.#path.push(field);
      inside(value);
      this.#path.pop();
    }
  }

  list(object: JsonObject, field: string, each: (item: JsonObject, index: number) => void): void {
    const value = object[field];
    if (value === undefined) return;
    if (value === null) {
      delete object[field];
      return;
    }
    if (!Array.isArray(value)) {
      this.at(field, `expected a list, found ${kindOf(value)}`);
      return;
    }
    this.#path.push(field);
    for (let index = 0; index < value.length; index++) {
      const item = value[index];
      this.#path.push(index);
      if (isObject(item)) each(item, index);
      else this.add(`expected an object, found ${kindOf(item)}`);
      this.#path.pop();
    }
    this.#path.pop();
  }
}
