import { isObject, type JsonObject, type JsonValue, kindOf, valueAt } from "@xfn/json";
import { Check, checkKubernetes, type Finding } from "../function-io/validate.ts";
import {
  ACCEPTED_API_VERSIONS,
  COMPOSED,
  COMPOSITE,
  NAME_ANNOTATION,
  RESOURCE_LIST_KIND,
  TYPE_ANNOTATION,
} from "./resource-list.ts";

/**
 * Checks a parsed ResourceList and brings it into the form of the type, in place. Null counts as absent. One item is
 * the XR; each other item is a composed resource with a name of its own.
 */
export function validateResourceList(value: JsonValue): Finding[] {
  const check = new Check();
  if (!isObject(value)) {
    check.add(`expected a ResourceList object, found ${kindOf(value)}`);
    return check.findings;
  }
  const { apiVersion } = value;
  if (typeof apiVersion !== "string" || !ACCEPTED_API_VERSIONS.includes(apiVersion)) {
    const found = typeof apiVersion === "string" ? JSON.stringify(apiVersion) : kindOf(apiVersion);
    check.at("apiVersion", `expected one of ${ACCEPTED_API_VERSIONS.join(", ")}, found ${found}`);
  }
  check.constant(value, "kind", RESOURCE_LIST_KIND);
  check.object(value, "functionConfig");
  if (value["items"] === undefined || value["items"] === null) value["items"] = [];
  checkItems(check, value);
  check.list(value, "results", (result) => {
    // The KRM functions specification makes info the default.
    check.text(result, "severity");
    if (result["severity"] === undefined) result["severity"] = "info";
    check.requiredText(result, "message");
  });
  return check.findings;
}

function checkItems(check: Check, list: JsonObject): void {
  const names = new Map<string, number>();
  let composite: number | undefined;
  check.list(list, "items", (item, index) => {
    checkKubernetes(check, item);
    const type = annotationOf(item, TYPE_ANNOTATION);
    if (type === COMPOSITE) {
      if (composite === undefined) composite = index;
      else check.add(`is a ${COMPOSITE}, as items[${composite}] is; return one XR`);
    } else if (type === COMPOSED) checkName(check, item, index, names);
    else {
      const found = type === undefined ? "is missing" : `is ${JSON.stringify(type)}`;
      check.add(`its annotation ${TYPE_ANNOTATION} ${found}; set it to ${COMPOSED}, or to ${COMPOSITE} for the XR`);
    }
  });
  if (composite === undefined && Array.isArray(list["items"])) {
    check.at("items", `has no ${COMPOSITE}; return the XR with the annotation ${TYPE_ANNOTATION} that it came with`);
  }
}

function checkName(check: Check, item: JsonObject, index: number, names: Map<string, number>): void {
  const name = annotationOf(item, NAME_ANNOTATION);
  if (name === undefined || name === "") {
    check.add(`its annotation ${NAME_ANNOTATION} is missing; give the composed resource a name of its own`);
    return;
  }
  const first = names.get(name);
  if (first === undefined) names.set(name, index);
  else check.add(`its annotation ${NAME_ANNOTATION} is ${JSON.stringify(name)}, as that of items[${first}] is`);
}

/** An annotation of an object of any form. */
export function annotationOf(item: JsonObject, annotation: string): string | undefined {
  const value = valueAt(item, "metadata", "annotations", annotation);
  return typeof value === "string" ? value : undefined;
}
