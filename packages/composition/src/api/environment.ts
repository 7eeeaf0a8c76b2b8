import type { JsonValue } from "@xfn/json";
import { list } from "../api-schema/list.ts";
import { ANY_OBJECT, named, object } from "../api-schema/object.ts";
import { COUNT, choice, custom, expected, name, required, type Schema, text } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { fieldPath } from "./field-path-schema.ts";
import { ENVIRONMENT_PATCHES } from "./patches.ts";
import type {
  EnvironmentConfiguration,
  EnvironmentLabelSelector,
  EnvironmentSelector,
  EnvironmentSource,
} from "./template.ts";

const LABEL = object<EnvironmentLabelSelector>(
  {
    key: expected(name(317)),
    type: choice("FromCompositeFieldPath", "Value"),
    valueFromFieldPath: fieldPath(name(1024).openApi),
    value: name(63),
    fromFieldPathPolicy: choice("Optional", "Required"),
  },
  {
    variants: {
      absent: "FromCompositeFieldPath",
      uses: {
        FromCompositeFieldPath: {
          valueFromFieldPath: "the field of the composite resource that has the label's value",
        },
        Value: { value: "the label's value" },
      },
    },
  },
);

/** Like Crossplane's own validation, reports only the first problem of a selector's labels. */
function checkLabels(value: JsonValue, selector: FieldReader, field: string): void {
  const labels = selector.objects(field, value);
  const { errors } = selector.findings;
  if (labels.length > 0 && selector.value("mode") !== "Multiple" && selector.value("maxMatch") !== undefined) {
    selector.error("Invalid", "maxMatch", "has no meaning with mode: Single; give mode: Multiple or remove it");
  }
  for (const label of labels) {
    if (selector.findings.errors > errors) return;
    if (label.text("key", "the label to look at") !== undefined) LABEL.checkObject(label);
  }
}

const SELECTOR = object<EnvironmentSelector>(
  {
    mode: choice("Single", "Multiple"),
    maxMatch: COUNT,
    minMatch: COUNT,
    sortByFieldPath: fieldPath(text().openApi),
    matchLabels: required(custom(list(LABEL, { minItems: 1 }).openApi, checkLabels), "at least one label"),
  },
  { rules: [["!has(self.maxMatch) || (has(self.mode) && self.mode == 'Multiple')", "maxMatch is for mode: Multiple"]] },
);

const SOURCE = object<EnvironmentSource>(
  { type: choice("Reference", "Selector"), ref: named("an EnvironmentConfig"), selector: SELECTOR },
  {
    rules: [
      [
        "(has(self.type) && self.type == 'Selector') || has(self.ref)",
        "ref is missing: the EnvironmentConfig, as ref.name",
      ],
      ["!has(self.type) || self.type != 'Selector' || has(self.selector)", "type Selector needs selector"],
    ],
    variants: {
      absent: "Reference",
      uses: {
        Reference: { ref: "the EnvironmentConfig to use, as ref.name" },
        Selector: { selector: "which EnvironmentConfigs to use, as selector.matchLabels" },
      },
    },
  },
);

/** Data that templates use in addition to the XR. */
export const ENVIRONMENT: Schema<EnvironmentConfiguration> = object<EnvironmentConfiguration>({
  defaultData: ANY_OBJECT,
  environmentConfigs: list(SOURCE, { maxItems: 64 }),
  patches: ENVIRONMENT_PATCHES,
  policy: object<NonNullable<EnvironmentConfiguration["policy"]>>({
    resolution: choice("Required", "Optional"),
    resolve: choice("Always", "IfNotPresent"),
  }),
});
