import { eachDuplicate, list, map } from "../api-schema/list.ts";
import { embeddedObject, object } from "../api-schema/object.ts";
import { choice, name, type Rule, required, type Schema, text } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import type { RequiredResource, RequiredSchema, StepCredential } from "./composition.ts";
import { TIMEOUT_RULE } from "./duration.ts";
import { CACHE, CHROOT_RULE, CONTAINER, checkCache, checkChroot, IO, MAX_STEPS, WASM } from "./functions.ts";
import { CALLED_PACKAGE_REFERENCE } from "./image-reference.ts";
import { SETTINGS } from "./step-settings.ts";
import { WEBHOOK } from "./webhook.ts";
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
        reference.error("Invalid", "package", "is given beside name; a step calls one function");
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

const CREDENTIALS = list(
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

const REQUIREMENTS = object<NonNullable<WrittenStep["requirements"]>>({
  requiredResources: list(
    object<RequiredResource>(
      { ...KIND, namespace: name(63), name: name(), matchLabels: map(text()) },
      {
        rules: [["!has(self.name) || !has(self.matchLabels)", "name and matchLabels exclude each other"]],
        check(selector) {
          if (selector.value("name") === undefined || selector.value("matchLabels") === undefined) return;
          selector.error("Invalid", "matchLabels", "is given beside name; select by one of them");
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

const RULES: readonly Rule[] = [
  TIMEOUT_RULE,
  [
    "[has(self.functionRef), has(self.container), has(self.webhook), has(self.wasm)].filter(one, one).size() == 1",
    "a step needs one of functionRef, container, webhook and wasm",
  ],
  [
    "!has(self.type) || (self.type == 'Webhook' ? has(self.webhook) : " +
      "self.type == 'Wasm' ? has(self.wasm) : has(self.container))",
    "types Container and Chroot require container, type: Webhook requires webhook, and type: Wasm requires wasm",
  ],
  CHROOT_RULE,
];

/** The field that names the function of a step, with further fields that steps with it read. */
const FIELDS_OF = {
  functionRef: ["input", "credentials", "requirements"],
  container: ["type", "config", "io", "cache"],
  webhook: ["type", "config", "io"],
  wasm: ["type", "config", "io", "cache"],
} as const;

/** The types of FunctionIO functions, by that field. */
const TYPES: ReadonlyMap<string, readonly unknown[]> = new Map([
  ["container", ["Container", "Chroot"]],
  ["webhook", ["Webhook"]],
  ["wasm", ["Wasm"]],
]);

const STEP = object<WrittenStep>(
  {
    step: required(name(253), "a name for this step"),
    functionRef: FUNCTION_REF,
    input: embeddedObject("an input"),
    credentials: CREDENTIALS,
    requirements: REQUIREMENTS,
    ...SETTINGS,
    type: choice("Container", "Webhook", "Wasm", "Chroot"),
    container: CONTAINER,
    webhook: WEBHOOK,
    wasm: WASM,
    config: embeddedObject("a config"),
    io: IO,
    cache: CACHE,
  },
  { rules: RULES, check: checkStep },
);

function checkStep(step: FieldReader): void {
  const [first, second] = (["functionRef", "container", "webhook", "wasm"] as const).filter(
    (field) => step.value(field) !== undefined,
  );
  if (first === undefined) {
    const what = "the function to call, as functionRef.name or functionRef.package, or container, the image to run";
    return step.error("Required", "functionRef", `is missing; give ${what}`);
  }
  if (second !== undefined) {
    return step.error("Invalid", second, `is given beside ${first}; a step runs one function`);
  }
  const read: readonly string[] = FIELDS_OF[first];
  for (const field of new Set(Object.values(FIELDS_OF).flat())) {
    if (read.includes(field) || step.value(field) === undefined || (field === "cache" && first === "webhook")) continue;
    step.warning("Ignored", field, `has no effect in a step with ${first}`);
  }
  const [type, needed] = [step.value("type"), TYPES.get(first)];
  if (needed !== undefined && type !== undefined && !needed.includes(type)) {
    step.error("Invalid", "type", `must be ${needed.join(" or ")} in a step with ${first}`);
  }
  checkCache(step);
  checkChroot(step);
}

/** The steps of `mode: Pipeline` (Crossplane v1.14). */
export const PIPELINE: Schema<WrittenStep[]> = list(STEP, {
  maxItems: MAX_STEPS,
  rules: [["self.all(one, self.exists_one(other, other.step == one.step))", "names of steps are unique"]],
  check: (items) =>
    eachDuplicate(items, "step", (item, value) => {
      const message = `${JSON.stringify(value.slice(0, 64))} is also the name of an earlier step; names are unique`;
      item.error("Duplicate", "step", message);
    }),
});
