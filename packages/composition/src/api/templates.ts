import type { ConnectionDetail, ReadinessCheck } from "@xfn/functionio";
import { isObject, type JsonValue } from "@xfn/json";
import { eachDuplicate, list } from "../api-schema/list.ts";
import { embeddedObject, object } from "../api-schema/object.ts";
import {
  choice,
  custom,
  expected,
  INTEGER,
  name,
  type Rule,
  required,
  type Schema,
  text,
} from "../api-schema/schema.ts";
import { READINESS_CHECK_TYPES } from "../observed/readiness.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { fieldPath } from "./field-path-schema.ts";
import { SET_PATCHES, TEMPLATE_PATCHES } from "./patches.ts";
import type { PatchSet, ResourceTemplate } from "./template.ts";

/** The most templates of one Composition: from it an API server estimates the cost of rules. */
const MAX_TEMPLATES = 256;

const ANY_TEXT = text();

const CONNECTION_DETAIL = object<ConnectionDetail>(
  {
    name: ANY_TEXT,
    type: choice("FromConnectionSecretKey", "FromFieldPath", "FromValue"),
    fromConnectionSecretKey: ANY_TEXT,
    fromFieldPath: fieldPath(ANY_TEXT.openApi),
    value: ANY_TEXT,
  },
  { check: checkDetail },
);

/** Crossplane accepts a detail without the field that its type needs, but then publishes no details of the resource. */
function checkDetail(detail: FieldReader): void {
  const given = detail.value("type");
  const type = DETAIL_FIELDS.find(([one]) => one === given) ?? inferredType(detail);
  const [title, field] = type;
  if (detail.value(field) === undefined) {
    detail.warning("Required", field, `is missing; a detail of type ${title} needs it`);
  } else if (title !== "FromConnectionSecretKey" && (detail.value("name") ?? "") === "") {
    detail.warning("Required", "name", `is missing; a detail of type ${title} needs it`);
  }
}

type DetailField = readonly [type: string, field: string];
const FROM_KEY: DetailField = ["FromConnectionSecretKey", "fromConnectionSecretKey"];
/** In the order in which the type of a detail is inferred from its fields. */
const DETAIL_FIELDS: readonly DetailField[] = [["FromValue", "value"], FROM_KEY, ["FromFieldPath", "fromFieldPath"]];

function inferredType(detail: FieldReader): DetailField {
  return DETAIL_FIELDS.find(([, field]) => detail.value(field) !== undefined) ?? FROM_KEY;
}

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

const READINESS_CHECK = object<ReadinessCheck>(
  {
    type: required(
      choice("MatchString", "MatchInteger", "NonEmpty", "MatchCondition", "MatchTrue", "MatchFalse", "None"),
    ),
    fieldPath: fieldPath(),
    matchString: text(4096),
    matchInteger: INTEGER,
    matchCondition: object<{ type: string; status: string }>({
      type: required(name(316), "the condition's type, such as Ready"),
      status: required(name(32), "the condition's status: True, False or Unknown"),
    }),
  },
  { rules: READINESS_RULES, check: checkReadiness },
);

/** Empty counts as missing, as in Crossplane: a template cannot match the empty string or 0. */
function checkReadiness(check: FieldReader): void {
  const type = check.value("type");
  if (type === "MatchString" && (check.value("matchString") ?? "") === "") {
    check.error("Required", "matchString", "is missing or empty; give the text to match");
  } else if (type === "MatchInteger" && isZero(check.value("matchInteger"))) {
    check.error("Required", "matchInteger", "is missing or 0; give the number to match");
  } else if (type === "MatchCondition" && check.value("matchCondition") === undefined) {
    const message = "is missing; every run fails without it; give its type and status";
    check.warning("Required", "matchCondition", message);
  }
  const needsPath = READINESS_CHECK_TYPES.some((one) => one === type && one !== "None" && one !== "MatchCondition");
  if (needsPath && (check.value("fieldPath") ?? "") === "") {
    check.error("Required", "fieldPath", "is missing; give the field to look at");
  }
}

function isZero(value: JsonValue | undefined): boolean {
  return value === undefined || value === 0 || value === 0n;
}

const EMBEDDED = embeddedObject("a base");
const BASE = custom<ResourceTemplate["base"]>(EMBEDDED.openApi, (base, template, field) => {
  EMBEDDED.check(base, template, field);
  const metadata = isObject(base) ? (base["metadata"] ?? {}) : {};
  if (!isObject(metadata)) template.object(field)?.error("Invalid", "metadata", "is not an object");
});

const TEMPLATE = object<ResourceTemplate>({
  name: text(253),
  base: required(BASE, "the object to compose, before patches"),
  patches: TEMPLATE_PATCHES,
  connectionDetails: list(CONNECTION_DETAIL),
  readinessChecks: list(READINESS_CHECK, { maxItems: 64 }),
});

/** The templates of a Composition. */
export const TEMPLATES: Schema<ResourceTemplate[]> = list(TEMPLATE, {
  maxItems: MAX_TEMPLATES,
  rules: [
    ["self.all(one, has(one.name)) || !self.exists(one, has(one.name))", "either all templates have names or none has"],
    [
      "self.all(one, !has(one.name) || self.exists_one(other, has(other.name) && other.name == one.name))",
      "names of templates are unique",
    ],
  ],
  check: checkNames,
});

/**
 * Either all templates have unique names, or none has a name. Otherwise a template without a name that is added at the
 * front would take the position, and the object, of another.
 */
function checkNames(templates: readonly FieldReader[], spec: FieldReader): void {
  const functions = spec.value("functions");
  const hasFunctions = Array.isArray(functions) && functions.length > 0;
  const seen = new Map<string, number>();
  for (const [index, template] of templates.entries()) {
    const name = template.value("name") ?? "";
    // A name of another type was already reported.
    if (typeof name !== "string") continue;
    const first = seen.get(name);
    if (name === "" && hasFunctions) {
      template.error(
        "Required",
        "name",
        "is missing; with functions every template needs a name, by which they know it",
      );
    } else if (name === "") {
      if (seen.size > 0) template.error("Required", "name", "is missing; either all templates have names or none has");
    } else if (first !== undefined) {
      const title = JSON.stringify(name.slice(0, 64));
      template.error("Duplicate", "name", `${title} is also the name of template ${first}; names are unique`);
    } else if (index > 0 && seen.size === 0) {
      template.error("Invalid", "name", "either all templates have names or none has, and those before have none");
    } else seen.set(name, index);
  }
}

/** The patches that templates share. */
export const PATCH_SETS: Schema<PatchSet[]> = list(
  object<PatchSet>({
    name: required(text(253), "the name by which patches refer to this set"),
    patches: expected(SET_PATCHES),
  }),
  {
    maxItems: 64,
    check: (sets) =>
      eachDuplicate(sets, "name", (set) => {
        set.warning("Duplicate", "name", "replaces the patch set of this name above");
      }),
  },
);
