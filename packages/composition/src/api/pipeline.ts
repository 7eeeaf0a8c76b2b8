import { eachDuplicate, list, map } from "../api-schema/list.ts";
import { embeddedObject, type ObjectSchema, object } from "../api-schema/object.ts";
import { choice, name, type Rule, required, type Schema, text } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import type { RequiredResource, RequiredSchema, StepCredential } from "./composition.ts";
import { TIMEOUT_RULE } from "./duration.ts";
import {
  CACHE,
  CHROOT_RULE,
  checkCache,
  checkChroot,
  IO,
  MAX_STEPS,
  TARGET_FIELDS,
  TARGETS,
  type TargetField,
  TYPE,
} from "./functions.ts";
import { CALLED_PACKAGE_REFERENCE } from "./image-reference.ts";
import { SETTINGS } from "./step-settings.ts";
import type { WrittenCredential, WrittenStep } from "./written.ts";

/** The most items of the lists of a step: from it an API server estimates the cost of rules. */
const MAX_REQUIREMENTS = 64;

const FUNCTION_REF = object<NonNullable<WrittenStep["functionRef"]>>(
  { name: name(), package: CALLED_PACKAGE_REFERENCE },
  {
    rules: [["has(self.name) != has(self.__package__)", "functionRef needs either name or package"]],
    check(reference) {
      const named = isFilled(reference, "name");
      if (named && isFilled(reference, "package")) {
        reference.error("Invalid", "package", "cannot be combined with name; a step calls one function");
      } else if (!named && !isFilled(reference, "package") && areTexts(reference)) {
        reference.error("Required", "name", "is missing; give the name of a Function, or a package as package");
      }
    },
  },
);

function isFilled(reader: FieldReader, field: string): boolean {
  const value = reader.value(field);
  return typeof value === "string" && value !== "";
}

/** A field of another type was already reported as such. */
function areTexts(reference: FieldReader): boolean {
  return ["name", "package"].every((field) => ["undefined", "string"].includes(typeof reference.value(field)));
}

export const CREDENTIALS: Schema<WrittenCredential[]> = list(
  object<WrittenCredential>(
    {
      name: required(name(), "a name by which the function knows the credentials"),
      source: required(choice("None", "Secret")),
      secretRef: object<StepCredential["secretRef"]>({
        namespace: required(name(63), "the namespace of the Secret"),
        name: required(name(), "the name of the Secret"),
      }),
    },
    {
      rules: [["self.source != 'Secret' || has(self.secretRef)", "source: Secret requires secretRef"]],
      check(credential) {
        if (credential.value("source") !== "Secret") return;
        credential.required("secretRef", credential.value("secretRef"), "the namespace and name of the Secret");
      },
    },
  ),
  { maxItems: MAX_REQUIREMENTS, key: "name", check: (items) => unique(items, "name") },
);

const KIND = {
  requirementName: required(name(), "a name by which the function knows it"),
  apiVersion: required(name(317), "the API version of the kind"),
  kind: required(name(63), "the kind"),
};

export const REQUIREMENTS: ObjectSchema<NonNullable<WrittenStep["requirements"]>> = object({
  requiredResources: list(
    object<RequiredResource>(
      { ...KIND, namespace: name(63), name: name(), matchLabels: map(text()) },
      {
        rules: [["!has(self.name) || !has(self.matchLabels)", "name and matchLabels exclude each other"]],
        check(selector) {
          if (selector.value("name") === undefined || selector.value("matchLabels") === undefined) return;
          selector.error("Invalid", "matchLabels", "cannot be combined with name; select by one of them");
        },
      },
    ),
    { maxItems: MAX_REQUIREMENTS, key: "requirementName", check: (items) => unique(items, "requirementName") },
  ),
  requiredSchemas: list(object<RequiredSchema>(KIND), {
    maxItems: MAX_REQUIREMENTS,
    key: "requirementName",
    check: (items) => unique(items, "requirementName"),
  }),
});

function unique(items: readonly FieldReader[], field: string): void {
  eachDuplicate(items, field, (item, value) => {
    const message = `${JSON.stringify(value.slice(0, 64))} is also the ${field} of an earlier item; they are unique`;
    item.error("Duplicate", field, message);
  });
}

/** The fields that name the function. A step has one of them. */
const NAMES = ["functionRef", ...TARGET_FIELDS.map(({ field }) => field)] as const;

const RULES: readonly Rule[] = [
  TIMEOUT_RULE,
  [
    `[${NAMES.map((field) => `has(self.${field})`).join(", ")}].filter(one, one).size() == 1`,
    `a step needs one of ${NAMES.slice(0, -1).join(", ")} and ${NAMES.at(-1)}`,
  ],
  [`!has(self.type) || (${targetOfType(TARGET_FIELDS)})`, requirementsOf(TARGET_FIELDS)],
  CHROOT_RULE,
];

/** A CEL expression: whether a step has the field that its type needs. */
function targetOfType([first, ...others]: readonly TargetField[]): string {
  const tests = others.map(({ field, types: [type] }) => `self.type == '${type}' ? has(self.${field}) : `);
  return `${tests.join("")}has(self.${first?.field})`;
}

function requirementsOf(fields: readonly TargetField[]): string {
  const parts = fields.map(({ field, types }) =>
    types.length === 1 ? `type: ${types[0]} requires ${field}` : `types ${types.join(" and ")} require ${field}`,
  );
  return `${parts.slice(0, -1).join(", ")}, and ${parts.at(-1)}`;
}

/** The further fields that steps read, by the field that names the function. */
const READ: Readonly<Record<(typeof NAMES)[number], readonly string[]>> = {
  functionRef: ["input", "credentials", "requirements"],
  ...(Object.fromEntries(
    TARGET_FIELDS.map(({ field, isCacheable }) => [field, ["type", "config", "io", ...(isCacheable ? ["cache"] : [])]]),
  ) as Record<TargetField["field"], string[]>),
};

const STEP = object<WrittenStep>(
  {
    step: required(name(253), "a name for this step"),
    functionRef: FUNCTION_REF,
    input: embeddedObject("an input"),
    credentials: CREDENTIALS,
    requirements: REQUIREMENTS,
    ...SETTINGS,
    type: TYPE,
    ...TARGETS,
    config: embeddedObject("a config"),
    io: IO,
    cache: CACHE,
  },
  { rules: RULES, check: checkStep },
);

function checkStep(step: FieldReader): void {
  const [first, second] = NAMES.filter((field) => step.value(field) !== undefined);
  if (first === undefined) {
    const what = "the function to call, as functionRef.name or functionRef.package, or container, the image to run";
    return step.error("Required", "functionRef", `is missing; give ${what}`);
  }
  if (second !== undefined) {
    return step.error("Invalid", second, `cannot be combined with ${first}; a step runs one function`);
  }
  const read = READ[first];
  for (const field of new Set(Object.values(READ).flat())) {
    if (read.includes(field) || step.value(field) === undefined || (field === "cache" && first === "webhook")) continue;
    step.warning("Ignored", field, `has no effect in a step with ${first}`);
  }
  const type = step.value("type");
  const needed = TARGET_FIELDS.find(({ field }) => field === first)?.types;
  if (needed !== undefined && type !== undefined && !needed.some((one) => one === type)) {
    step.error("Invalid", "type", `must be ${needed.join(" or ")} in a step with ${first}`);
  }
  checkCache(step);
  checkChroot(step);
}

/**
 * The steps of `mode: Pipeline` (Crossplane v1.14). The key is that of Crossplane's CRD. Between CRDs with different
 * keys, the API server forgets the owners of fields, and keeps fields that their owner removes.
 */
export const PIPELINE: Schema<WrittenStep[]> = list(STEP, {
  maxItems: MAX_STEPS,
  key: "step",
  check: uniqueSteps,
});

/** Reports steps with the same name. */
export function uniqueSteps(items: readonly FieldReader[]): void {
  eachDuplicate(items, "step", (item, value) => {
    const message = `${JSON.stringify(value.slice(0, 64))} is also the name of an earlier step; names are unique`;
    item.error("Duplicate", "step", message);
  });
}
