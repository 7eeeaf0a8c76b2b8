import type { JsonPath } from "@xfn/json";
import { isMap, type Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { TARGET_POLICIES } from "./explicit-templates.ts";
import type { Problem } from "./problem.ts";
import { isFilled, keyOf, mapAt, mapOf, mapsIn, pairOf, rename, take, textAt } from "./yaml-nodes.ts";

const STEPS: JsonPath = ["spec", "pipeline"];

/**
 * Converts a Composition of `mode: Pipeline` to templates: at most one step of function-patch-and-transform, before it
 * one of function-environment-configs, behind it steps with containers. Others have no form as templates.
 *
 * @param root the document; changed in place
 */
export function toTemplates(root: YAMLMap): Problem[] {
  const spec = mapAt(root, "spec");
  if (spec === undefined) return [{ at: ["spec"], message: "is missing" }];
  if (textAt(spec, "mode") !== "Pipeline")
    return [{ at: ["spec", "mode"], message: "is not Pipeline: these are templates already", severity: "note" }];
  const problems: Problem[] = [];
  for (const field of ["resources", "to", "patchSets", "functions", "environment"]) {
    if (!isFilled(spec, field)) continue;
    problems.push({ at: ["spec", field], message: "has no effect with mode: Pipeline", severity: "loss" });
    take(spec, field);
  }
  const parts = partsOf(spec, problems);
  const place = spec.items.findIndex((pair) => keyOf(pair) === "pipeline");
  const added = new YAMLMap();
  if (parts.environment.items.length > 0) added.set(new Scalar("environment"), parts.environment);
  added.items.push(...parts.templates);
  if (parts.functions.items.length > 0) {
    added.set(new Scalar("functions"), parts.functions);
    // As a pipeline does.
    take(spec, "undesiredResources");
    added.set(new Scalar("undesiredResources"), new Scalar("Delete"));
  }
  spec.items.splice(place, 1, ...added.items);
  take(spec, "mode");
  return problems;
}

interface Parts {
  environment: YAMLMap;
  templates: Pair[];
  functions: YAMLSeq;
}

function partsOf(spec: YAMLMap, problems: Problem[]): Parts {
  const parts: Parts = { environment: new YAMLMap(), templates: [], functions: new YAMLSeq() };
  let reached = "";
  for (const [index, step] of mapsIn(spec, "pipeline")) {
    const at = [...STEPS, index];
    const refuse = (field: string, message: string): void => void problems.push({ at: [...at, field], message });
    const name = textAt(step, "step");
    for (const field of ["credentials", "requirements"])
      if (isFilled(step, field)) refuse(field, "templates have none");
    const input = mapAt(step, "input");
    const kind = input === undefined ? "" : `${textAt(input, "apiVersion")} ${textAt(input, "kind")}`;
    if (pairOf(step, "container") !== undefined) {
      const named = pairOf(step, "step");
      if (named !== undefined) rename(named, "name");
      if (pairOf(step, "type") === undefined) step.set(new Scalar("type"), new Scalar("Container"));
      parts.functions.add(step);
      reached = "container";
    } else if (input !== undefined && /^pt\.fn\.crossplane\.io\/\S+ Resources$/.test(kind)) {
      if (reached !== "" && reached !== "environment") refuse("input", "templates are always the first step");
      reached = "templates";
      checkInput(input, [...at, "input"], problems);
      for (const field of ["apiVersion", "kind", "metadata"]) take(input, field);
      const own = mapAt(input, "environment");
      if (own !== undefined) parts.environment.items.push(...own.items);
      take(input, "environment");
      implicitPolicies(input);
      parts.templates.push(...input.items);
    } else if (input !== undefined && /^environmentconfigs\.fn\.crossplane\.io\/\S+ Input$/.test(kind)) {
      if (reached !== "") refuse("input", "a Composition of templates selects EnvironmentConfigs before all else");
      reached = "environment";
      parts.environment.items.push(...(mapAt(input, "spec")?.items ?? []));
    } else {
      const called = calledBy(step) || name;
      if (/(^|-)function-auto-ready$/.test(called)) {
        const message = `calls ${called}: templates have readiness checks of their own`;
        problems.push({ at: [...at, "functionRef"], message, severity: "note" });
        continue;
      }
      refuse("functionRef", `the step ${JSON.stringify(name)} calls ${called}, which templates cannot express`);
    }
  }
  return parts;
}

function calledBy(step: YAMLMap): string {
  return textAt(mapAt(step, "functionRef") ?? new YAMLMap(), "name");
}

const INPUT_FIELDS = ["apiVersion", "kind", "metadata", "resources", "patchSets", "environment"];

function checkInput(input: YAMLMap, at: JsonPath, problems: Problem[]): void {
  for (const pair of input.items)
    if (!INPUT_FIELDS.includes(keyOf(pair)))
      problems.push({ at: [...at, keyOf(pair)], message: "templates have no such field" });
  for (const [index, template] of mapsIn(input, "resources")) {
    if (isMap(pairOf(template, "base")?.value)) continue;
    const message = "has no base: it patches what an earlier step desires, which templates cannot";
    problems.push({ at: [...at, "resources", index], message });
  }
}

/** The policies of targets become merge options, as templates call them. */
function implicitPolicies(input: YAMLMap): void {
  const holders = [...mapsIn(input, "resources"), ...mapsIn(input, "patchSets")];
  for (const [, holder] of holders)
    for (const [, patch] of mapsIn(holder, "patches")) {
      const policy = mapAt(patch, "policy");
      if (policy === undefined) continue;
      const name = textAt(policy, "toFieldPath");
      const options = TARGET_POLICIES[name];
      if (options === undefined && name !== "Replace") continue;
      take(policy, "toFieldPath");
      if (options !== undefined)
        policy.set(
          new Scalar("mergeOptions"),
          mapOf({ keepMapValues: String(options.keep), appendSlice: String(options.append) }),
        );
      else if (policy.items.length === 0) take(patch, "policy");
    }
}
