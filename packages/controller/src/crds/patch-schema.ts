import type { JsonObject } from "@xfn/functionio";
import { ANY, ANY_TEXT, choice, FLAG, INTEGER, list, neededByType, object, type Rule, text } from "./schema-parts.ts";

// The fields of patches and transforms (packages/composition/src/api/template.ts).

const PATH = text(1024);

const COMBINE = object(
  {
    strategy: choice("string"),
    variables: list(object({ fromFieldPath: PATH }, ["fromFieldPath"]), undefined, [], { minItems: 1 }),
    string: object({ fmt: ANY_TEXT }, ["fmt"]),
  },
  ["strategy", "variables"],
);

const PATTERN: JsonObject = {
  ...object({ type: choice("literal", "regexp"), literal: ANY_TEXT, regexp: ANY_TEXT, result: ANY }, ["result"]),
  ...neededByType({ literal: ["literal"], regexp: ["regexp"] }, "literal"),
};

const MATCH = object(
  {
    patterns: list(PATTERN, undefined, [], { minItems: 1 }),
    fallbackValue: ANY,
    fallbackTo: choice("Value", "Input"),
  },
  ["patterns"],
);

const MATH: JsonObject = {
  ...object({
    type: choice("Multiply", "ClampMin", "ClampMax"),
    multiply: INTEGER,
    clampMin: INTEGER,
    clampMax: INTEGER,
  }),
  ...neededByType({ Multiply: ["multiply"], ClampMin: ["clampMin"], ClampMax: ["clampMax"] }, "Multiply"),
};

const STRING_NEEDS = {
  Format: ["fmt"],
  Convert: ["convert"],
  TrimPrefix: ["trim"],
  TrimSuffix: ["trim"],
  Regexp: ["regexp"],
  Join: ["join"],
} as const;

const STRING: JsonObject = {
  ...object({
    type: choice(...Object.keys(STRING_NEEDS)),
    fmt: ANY_TEXT,
    convert: choice("ToUpper", "ToLower", "ToBase64", "FromBase64", "ToJson", "ToSha1", "ToSha256", "ToSha512"),
    trim: ANY_TEXT,
    regexp: object({ match: text(4096, { minLength: 1 }), group: INTEGER }, ["match"]),
    join: object({ separator: ANY_TEXT }, ["separator"]),
  }),
  ...neededByType(STRING_NEEDS, "Format"),
};

const CONVERT: JsonObject = {
  ...object(
    {
      toType: choice("string", "int", "int64", "bool", "float64", "object", "array"),
      format: choice("none", "quantity", "json"),
    },
    ["toType"],
  ),
  // JSON is of objects and lists.
  anyOf: [
    { properties: { toType: { enum: ["object", "array"] } } },
    { properties: { format: { enum: ["none", "quantity"] } } },
  ],
};

const TRANSFORM: JsonObject = {
  ...object(
    {
      type: choice("map", "match", "math", "string", "convert"),
      map: { type: "object", minProperties: 1, additionalProperties: ANY },
      match: MATCH,
      math: MATH,
      string: STRING,
      convert: CONVERT,
    },
    ["type"],
  ),
  ...neededByType({ map: ["map"], match: ["match"], math: ["math"], string: ["string"], convert: ["convert"] }),
};

const POLICY = object({
  fromFieldPath: choice("Optional", "Required"),
  mergeOptions: object({ keepMapValues: FLAG, appendSlice: FLAG }),
});

const COPY = ["FromCompositeFieldPath", "ToCompositeFieldPath"];
const COPY_ENVIRONMENT = ["FromEnvironmentFieldPath", "ToEnvironmentFieldPath"];
const COMBINES = ["CombineFromComposite", "CombineToComposite"];
const COMBINES_ENVIRONMENT = ["CombineFromEnvironment", "CombineToEnvironment"];

const COMBINE_RULES: readonly Rule[] = [
  ["!has(self.type) || !self.type.startsWith('Combine') || has(self.combine)", "a patch that combines needs combine"],
  [
    "!has(self.type) || !self.type.startsWith('Combine') || has(self.toFieldPath)",
    "a patch that combines needs toFieldPath, the field to write to",
  ],
];
const COPY_RULE: Rule = [
  "(has(self.type) && (self.type.startsWith('Combine') || self.type == 'PatchSet')) || has(self.fromFieldPath)",
  "fromFieldPath is missing: the field to copy",
];

/** A patch of one of these types. */
function patch(types: readonly string[], rules: readonly Rule[]): JsonObject {
  return object(
    {
      type: choice(...types),
      fromFieldPath: PATH,
      toFieldPath: PATH,
      combine: COMBINE,
      patchSetName: text(253),
      transforms: list(TRANSFORM),
      policy: POLICY,
    },
    [],
    rules,
  );
}

/** The most patches of one template. */
export const MAX_PATCHES = 256;

/** The patches of a template. */
export const TEMPLATE_PATCHES: JsonObject = list(
  patch(
    [...COPY, ...COMBINES, ...COPY_ENVIRONMENT, ...COMBINES_ENVIRONMENT, "PatchSet"],
    [
      ...COMBINE_RULES,
      COPY_RULE,
      [
        "!has(self.type) || self.type != 'PatchSet' || has(self.patchSetName)",
        "a patch of type PatchSet needs patchSetName",
      ],
    ],
  ),
  MAX_PATCHES,
);

/** The patches of a patch set: any but patch sets. */
export const SET_PATCHES: JsonObject = list(
  patch([...COPY, ...COMBINES, ...COPY_ENVIRONMENT, ...COMBINES_ENVIRONMENT], [...COMBINE_RULES, COPY_RULE]),
  MAX_PATCHES,
);

/** The patches between the composite and the environment. */
export const ENVIRONMENT_PATCHES: JsonObject = list(
  patch([...COPY, ...COMBINES], [...COMBINE_RULES, COPY_RULE]),
  MAX_PATCHES,
);
