import type { JsonObject } from "@xfn/functionio";
import { FUNCTIONS, PIPELINE } from "./function-schema.ts";
import { ENVIRONMENT_PATCHES, SET_PATCHES, TEMPLATE_PATCHES } from "./patch-schema.ts";
import {
  ANY_OBJECT,
  ANY_TEXT,
  choice,
  EMBEDDED_OBJECT,
  INTEGER,
  list,
  NAMED,
  name,
  neededByType,
  object,
  type Rule,
  text,
} from "./schema-parts.ts";

// The spec of a Composition (packages/composition/src/api/composition.ts): one schema for all versions in which it is served.

/** The most composed resources of one Composition: with it the server can reckon what the rules cost. */
const MAX_TEMPLATES = 256;

const TYPE_REFERENCE = object({ apiVersion: name(317), kind: name(63) }, ["apiVersion", "kind"]);

const CONNECTION_DETAIL = object(
  {
    name: ANY_TEXT,
    type: choice("FromConnectionSecretKey", "FromFieldPath", "FromValue"),
    fromConnectionSecretKey: ANY_TEXT,
    fromFieldPath: ANY_TEXT,
    value: ANY_TEXT,
  },
  [],
);

const READINESS_RULES: readonly Rule[] = [
  [
    "self.type != 'MatchString' || (has(self.matchString) && self.matchString != '')",
    "a check of type MatchString needs matchString",
  ],
  [
    "self.type != 'MatchInteger' || (has(self.matchInteger) && self.matchInteger != 0)",
    "a check of type MatchInteger needs matchInteger, other than 0",
  ],
  ["self.type != 'MatchCondition' || has(self.matchCondition)", "a check of type MatchCondition needs matchCondition"],
  [
    "self.type in ['None', 'MatchCondition'] || (has(self.fieldPath) && self.fieldPath != '')",
    "fieldPath is missing: the field to look at",
  ],
];

const READINESS_CHECK = object(
  {
    type: choice("MatchString", "MatchInteger", "NonEmpty", "MatchCondition", "MatchTrue", "MatchFalse", "None"),
    fieldPath: text(1024),
    matchString: text(4096),
    matchInteger: INTEGER,
    matchCondition: object({ type: name(316), status: name(32) }, ["type", "status"]),
  },
  ["type"],
  READINESS_RULES,
);

const TEMPLATES = list(
  object(
    {
      name: text(253),
      base: EMBEDDED_OBJECT,
      patches: TEMPLATE_PATCHES,
      connectionDetails: list(CONNECTION_DETAIL),
      readinessChecks: list(READINESS_CHECK, 64),
    },
    ["base"],
  ),
  MAX_TEMPLATES,
  [
    ["self.all(one, has(one.name)) || !self.exists(one, has(one.name))", "either all templates have names or none has"],
    [
      "self.all(one, !has(one.name) || self.exists_one(other, has(other.name) && other.name == one.name))",
      "names of templates are unique",
    ],
  ],
);

const SELECTOR_LABEL: JsonObject = {
  ...object(
    {
      key: name(317),
      type: choice("FromCompositeFieldPath", "Value"),
      valueFromFieldPath: name(1024),
      value: name(63),
      fromFieldPathPolicy: choice("Optional", "Required"),
    },
    ["key"],
  ),
  ...neededByType({ FromCompositeFieldPath: ["valueFromFieldPath"], Value: ["value"] }, "FromCompositeFieldPath"),
};

const SELECTOR = object(
  {
    mode: choice("Single", "Multiple"),
    maxMatch: { ...INTEGER, minimum: 0 },
    minMatch: { ...INTEGER, minimum: 0 },
    sortByFieldPath: ANY_TEXT,
    matchLabels: list(SELECTOR_LABEL, undefined, [], { minItems: 1 }),
  },
  ["matchLabels"],
  [["!has(self.maxMatch) || (has(self.mode) && self.mode == 'Multiple')", "maxMatch is for mode: Multiple"]],
);

const ENVIRONMENT = object({
  defaultData: ANY_OBJECT,
  environmentConfigs: list(
    object(
      {
        type: choice("Reference", "Selector"),
        ref: NAMED,
        selector: SELECTOR,
      },
      [],
      [
        [
          "(has(self.type) && self.type == 'Selector') || has(self.ref)",
          "ref is missing: the EnvironmentConfig, as ref.name",
        ],
        ["!has(self.type) || self.type != 'Selector' || has(self.selector)", "type Selector needs selector"],
      ],
    ),
    64,
  ),
  patches: ENVIRONMENT_PATCHES,
  policy: object({ resolution: choice("Required", "Optional"), resolve: choice("Always", "IfNotPresent") }),
});

/** The fields of the spec. */
export const COMPOSITION_SPEC_FIELDS: Readonly<JsonObject> = {
  compositeTypeRef: TYPE_REFERENCE,
  from: TYPE_REFERENCE,
  mode: choice("Resources", "Pipeline"),
  resources: TEMPLATES,
  to: TEMPLATES,
  patchSets: list(object({ name: text(253), patches: SET_PATCHES }, ["name", "patches"]), 64),
  environment: ENVIRONMENT,
  functions: FUNCTIONS,
  pipeline: PIPELINE,
  undesiredResources: choice("Keep", "Delete"),
  writeConnectionSecretsToNamespace: name(63),
  publishConnectionDetailsWithStoreConfigRef: NAMED,
};

/** What holds between fields of the spec. */
export const COMPOSITION_RULES: readonly Rule[] = [
  [
    "has(self.compositeTypeRef) != has(self.from)",
    "compositeTypeRef is missing, or said twice: from (the older spelling) says the same",
  ],
  ["!has(self.resources) || !has(self.to)", "to says the same as resources: give only one of them"],
  [
    "!has(self.functions) || size(self.functions) == 0 || !has(self.resources) || self.resources.all(one, has(one.name))",
    "resources: with functions every template needs a name, by which they know it",
  ],
  [
    "!has(self.functions) || size(self.functions) == 0 || !has(self.to) || self.to.all(one, has(one.name))",
    "to: with functions every template needs a name, by which they know it",
  ],
  [
    "!has(self.mode) || self.mode != 'Pipeline' || (has(self.pipeline) && size(self.pipeline) > 0)",
    "pipeline is missing: the steps that mode: Pipeline runs",
  ],
];
