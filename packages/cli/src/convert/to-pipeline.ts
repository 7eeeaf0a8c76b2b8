import type { JsonPath } from "@xfn/json";
import { isScalar, type Pair, YAMLMap, YAMLSeq } from "yaml";
import { explicitTemplates } from "./explicit-templates.ts";
import type { Problem } from "./problem.ts";
import { isFilled, keyOf, mapAt, mapOf, mapsIn, pairOf, rename, setText, take, textAt } from "./yaml-nodes.ts";

/** The names of the Function objects that the steps call. */
export interface FunctionNames {
  readonly templates: string;
  readonly environment: string;
}

const TEMPLATE_FIELDS = ["patchSets", "resources", "to"];

/**
 * Converts a Composition of templates to `mode: Pipeline`: its templates become the input of
 * function-patch-and-transform, its EnvironmentConfigs that of function-environment-configs, its functions steps with a
 * container. A Composition with `mode: Pipeline` is not changed.
 *
 * @param root the document; changed in place
 */
export function toPipeline(root: YAMLMap, names: FunctionNames): Problem[] {
  const spec = mapAt(root, "spec");
  if (spec === undefined) return [{ at: ["spec"], message: "is missing" }];
  setText(root, "apiVersion", "apiextensions.crossplane.io/v1");
  const from = pairOf(spec, "from");
  if (from !== undefined) rename(from, "compositeTypeRef");
  if (textAt(spec, "mode") === "Pipeline")
    return [{ at: ["spec", "mode"], message: "is Pipeline already", severity: "note" }];
  const problems = problemsOf(spec);
  const place = spec.items.findIndex((pair) => [...TEMPLATE_FIELDS, "environment", "functions"].includes(keyOf(pair)));
  for (const field of ["mode", "pipeline", "undesiredResources"]) take(spec, field);
  const templates = TEMPLATE_FIELDS.some((field) => isFilled(spec, field));
  const [configs, environment] = environmentOf(spec, problems);
  const input = mapOf({ apiVersion: "pt.fn.crossplane.io/v1beta1", kind: "Resources", ...environment });
  for (const pair of spec.items.filter((one) => TEMPLATE_FIELDS.includes(keyOf(one)))) {
    take(spec, keyOf(pair));
    if (keyOf(pair) === "to") rename(pair, "resources");
    input.items.push(pair);
  }
  explicitTemplates(input);
  const steps = new YAMLSeq();
  if (configs.length > 0) {
    const wanted = mapOf({ apiVersion: "environmentconfigs.fn.crossplane.io/v1beta1", kind: "Input", spec: {} });
    mapAt(wanted, "spec")?.items.push(...configs);
    steps.add(functionStep("environment-configs", names.environment, wanted));
  }
  if (templates) steps.add(functionStep("patch-and-transform", names.templates, input));
  for (const [, one] of mapsIn(spec, "functions")) steps.add(containerStep(one));
  take(spec, "functions");
  if (steps.items.length === 0) {
    problems.push({ at: ["spec"], message: "has neither templates nor functions: a pipeline needs a step" });
  }
  const added = mapOf({ mode: "Pipeline", pipeline: steps });
  spec.items.splice(place < 0 ? spec.items.length : Math.min(place, spec.items.length), 0, ...added.items);
  return problems;
}

function problemsOf(spec: YAMLMap): Problem[] {
  const problems: Problem[] = [];
  const report = (at: JsonPath, message: string, severity: "loss" | "note"): void => {
    problems.push({ at: ["spec", ...at], message, severity });
  };
  if (isFilled(spec, "pipeline")) report(["pipeline"], "has no effect without mode: Pipeline", "loss");
  for (const [index] of mapsIn(spec, "functions")) {
    report(["functions", index], "becomes a step with a container, which xfn runs, and Crossplane does not", "note");
  }
  if (isFilled(spec, "functions") && textAt(spec, "undesiredResources") !== "Delete") {
    report(["functions"], "kept the resources that no step desires any more; a pipeline deletes them", "note");
  }
  return problems;
}

/** Splits `spec.environment`: what selects EnvironmentConfigs, and what belongs to the templates. */
function environmentOf(spec: YAMLMap, problems: Problem[]): [configs: Pair[], templates: { environment?: YAMLMap }] {
  const environment = mapAt(spec, "environment");
  if (environment === undefined) return [[], {}];
  take(spec, "environment");
  const policy = mapAt(environment, "policy");
  const resolve = policy && textAt(policy, "resolve");
  if (policy !== undefined && resolve !== undefined) {
    take(policy, "resolve");
    if (resolve === "IfNotPresent") {
      const message = "functions select EnvironmentConfigs in every run: there is no IfNotPresent";
      problems.push({ at: ["spec", "environment", "policy", "resolve"], message, severity: "loss" });
    }
    if (policy.items.length === 0) take(environment, "policy");
  }
  const patches = take(environment, "patches");
  if (patches === undefined) return [environment.items, {}];
  const own = new YAMLMap();
  own.items.push(patches);
  return [environment.items, { environment: own }];
}

function functionStep(step: string, name: string, input: YAMLMap): YAMLMap {
  return mapOf({ step, functionRef: { name }, input });
}

function containerStep(one: YAMLMap): YAMLMap {
  const name = pairOf(one, "name");
  if (name !== undefined && isScalar(name.key)) rename(name, "step");
  return one;
}
