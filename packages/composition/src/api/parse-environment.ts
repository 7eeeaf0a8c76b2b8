import type { FieldReader } from "../reader/field-reader.ts";
import { readFieldPath } from "./parse-field-path.ts";
import { readPatches } from "./parse-patch.ts";
import type { EnvironmentConfiguration } from "./template.ts";

/** The `environment` of a Composition's spec. */
export function readEnvironment(spec: FieldReader): EnvironmentConfiguration | undefined {
  const environment = spec.object("environment");
  if (environment === undefined) return undefined;
  environment.object("defaultData");
  const patches = readPatches(environment, "environment", true);
  for (const source of environment.objects("environmentConfigs")) checkSource(source);
  const policy = environment.object("policy");
  policy?.oneOf("resolution", ["Required", "Optional"]);
  policy?.oneOf("resolve", ["Always", "IfNotPresent"]);
  policy?.warnUnknown();
  environment.warnUnknown();
  const { patches: _, ...rest } = environment.json;
  return { ...rest, ...(patches.length > 0 && { patches }) };
}

function checkSource(source: FieldReader): void {
  const type = source.string("type") || "Reference";
  const ref = source.object("ref");
  const selector = source.object("selector");
  if (type === "Reference") {
    source.required("ref", ref, "the EnvironmentConfig to use, as ref.name");
    ref?.text("name", "the name of an EnvironmentConfig");
    ref?.warnUnknown();
  } else if (type === "Selector") {
    source.required("selector", selector, "which EnvironmentConfigs to use, as selector.matchLabels");
    if (selector !== undefined) checkSelector(selector);
  } else {
    source.error("Invalid", "type", `${JSON.stringify(type.slice(0, 64))} is not one of Reference, Selector`);
  }
  source.warnUnknown();
}

/** As in Crossplane's own validation, the first thing that is wrong with a selector is reported. */
function checkSelector(selector: FieldReader): void {
  const labels = selector.objects("matchLabels");
  const mode = selector.oneOf("mode", ["Single", "Multiple"]) ?? "Single";
  const { errors } = selector.findings;
  if (labels.length === 0) selector.error("Required", "matchLabels", "is missing or empty; give at least one label");
  else if (mode === "Single" && selector.value("maxMatch") !== undefined) {
    selector.error("Invalid", "maxMatch", "has no meaning with mode: Single; give mode: Multiple or remove it");
  }
  for (const field of ["maxMatch", "minMatch"]) {
    const count = selector.integer(field);
    if (count !== undefined && count < 0) selector.error("Invalid", field, "must not be negative");
  }
  readFieldPath(selector, "sortByFieldPath");
  for (const label of labels) {
    if (selector.findings.errors > errors) break;
    checkLabel(label);
  }
  selector.warnUnknown();
}

function checkLabel(label: FieldReader): void {
  if (label.text("key", "the label to look at") === undefined) return;
  const type = label.string("type") || "FromCompositeFieldPath";
  if (type === "FromCompositeFieldPath") {
    const path = readFieldPath(label, "valueFromFieldPath");
    const what = "the field of the composite resource that has the label's value";
    label.required("valueFromFieldPath", path, what);
    if (path === "") label.error("Required", "valueFromFieldPath", `is empty; give ${what}`);
  } else if (type === "Value") label.text("value", "the label's value");
  else {
    label.error("Invalid", "type", `${JSON.stringify(type.slice(0, 64))} is not one of FromCompositeFieldPath, Value`);
  }
  label.oneOf("fromFieldPathPolicy", ["Optional", "Required"]);
  for (const field of ["value", "valueFromFieldPath"]) label.value(field);
  label.warnUnknown();
}
