import type { JsonValue } from "@xfn/json";
import { parseQuantity, type Quantity } from "@xfn/units";
import { eachDuplicate, list, map } from "../api-schema/list.ts";
import { embeddedObject, type Fields, type ObjectSchema, object } from "../api-schema/object.ts";
import { ANY, choice, custom, name, type Rule, required, type Schema, text, unread } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import { isObject, kindOf } from "../values/json.ts";
import type { FunctionForm, ImagePullSecret, NetworkPolicy } from "./composition.ts";
import { attempt, duration, TIMEOUT, TIMEOUT_RULE } from "./duration.ts";
import { IMAGE_REFERENCE } from "./image-reference.ts";
import { SETTINGS } from "./step-settings.ts";
import { WEBHOOK } from "./webhook.ts";
import type {
  WrittenCache,
  WrittenContainer,
  WrittenFunction,
  WrittenQuantity,
  WrittenTarget,
  WrittenWasm,
} from "./written.ts";

/** The form of a function's input and output. */
export const IO: Schema<FunctionForm> = choice("FunctionIO", "ResourceList", "KRM");

/** The longest time for which the controller keeps an output, as for responses of function packages. */
const MAX_TTL_MS = 24 * 60 * 60 * 1000;

/** The time for which the controller may use an output again. */
export const CACHE: Schema<WrittenCache> = object<WrittenCache>(
  {
    ttl: required(
      duration(
        "leave cache out to call the function in each run",
        MAX_TTL_MS,
        "is longer than the 24h that an output is kept",
      ),
      "how long an output may be used again, such as 10m",
    ),
  },
  {
    rules: [
      [
        "duration(self.ttl) > duration('0s') && duration(self.ttl) <= duration('24h')",
        "ttl must be more than zero, and at most 24h",
      ],
    ],
  },
);

/** Reports `cache` of a webhook, or of a function with a network. CEL rules cannot read `network`: it has two types. */
export function checkCache(step: FieldReader): void {
  const container = step.value("container");
  if (step.value("cache") !== undefined && step.value("webhook") !== undefined) {
    step.error("Invalid", "cache", "is not possible with a webhook, whose output can depend on more than the input");
  }
  if (step.value("cache") === undefined || !isObject(container)) return;
  const { network } = container;
  const policy = isObject(network) ? network["policy"] : network;
  if (policy !== "Accessible" && policy !== "Runner") return;
  const message =
    "is not possible with network: Accessible, because the output can depend on more than the input; remove cache, or " +
    "leave the network Isolated";
  step.error("Invalid", "cache", message);
}

/** Without a sign and with a digit that is not 0: limits are more than zero. */
const QUANTITY = custom<WrittenQuantity>(
  {
    "x-kubernetes-int-or-string": true,
    minimum: 1,
    pattern:
      "^\\+?([0-9]*[1-9][0-9]*(\\.[0-9]*)?|[0-9]*\\.[0-9]*[1-9][0-9]*)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$",
  },
  checkQuantity,
);

const NETWORK_POLICY = object<{ policy?: NetworkPolicy | "Runner" }>({
  policy: choice("Isolated", "Runner", "Accessible"),
});

const NETWORK = custom<NonNullable<WrittenContainer["network"]>>(
  {
    ...ANY.openApi,
    enum: ["Isolated", "Accessible", { policy: "Isolated" }, { policy: "Accessible" }, { policy: "Runner" }],
  },
  (network, container, field) => {
    if (isObject(network)) NETWORK_POLICY.check(network, container, field);
    else container.oneOf(field, ["Isolated", "Accessible"], network);
  },
);

const RESOURCES = object<NonNullable<WrittenContainer["resources"]>>(
  {
    limits: object<{ memory?: WrittenQuantity; cpu?: WrittenQuantity }>(
      { memory: QUANTITY, cpu: QUANTITY },
      {
        // A limit that nothing enforces is worse than none: its author relies on it.
        onUnknown: (limits, field) =>
          limits.error("Unsupported", field, "is not a limit that functions can have; there are memory and cpu"),
      },
    ),
    requests: unread(map(ANY)),
  },
  {
    check(resources) {
      if (resources.value("requests") === undefined) return;
      resources.warning("Ignored", "requests", "has no effect: functions have limits only");
    },
  },
);

/** The fields of functions that are images. */
const IMAGE = {
  image: required(IMAGE_REFERENCE, "the OCI image to run"),
  imagePullPolicy: choice("IfNotPresent", "Always", "Never"),
  imagePullSecrets: list(
    object<ImagePullSecret>({ name: required(name(), "the name of a Secret"), namespace: name(63) }),
  ),
  timeout: TIMEOUT,
  runner: object<{ endpoint?: string }>({ endpoint: text() }),
};

/** The image of a function, and the options of its container. */
const CONTAINER: ObjectSchema<WrittenContainer> = object<WrittenContainer>(
  { ...IMAGE, network: NETWORK, resources: RESOURCES },
  {
    rules: [TIMEOUT_RULE],
  },
);

/** The image of a WebAssembly module. It has no network, and computes on one thread. */
const WASM: ObjectSchema<WrittenWasm> = object<WrittenWasm>(
  {
    ...IMAGE,
    resources: object<NonNullable<WrittenWasm["resources"]>>({
      limits: object<{ memory?: WrittenQuantity }>(
        { memory: QUANTITY },
        {
          onUnknown: (limits, field) =>
            limits.error("Unsupported", field, "is not a limit that modules can have; there is memory"),
        },
      ),
    }),
  },
  { rules: [TIMEOUT_RULE] },
);

/** Refuses limits, which a chroot cannot enforce. CEL rules cannot read `network`, which has several types. */
export const CHROOT_RULE: Rule = [
  "!has(self.type) || self.type != 'Chroot' || !has(self.container) || !has(self.container.resources) || " +
    "!has(self.container.resources.limits) || " +
    "(!has(self.container.resources.limits.memory) && !has(self.container.resources.limits.cpu))",
  "type: Chroot cannot enforce limits; remove container.resources, or use type: Container",
];

/** Reports settings that the author of a Chroot function relies on, but that a chroot cannot enforce. */
export function checkChroot(step: FieldReader): void {
  const container = step.value("container");
  if (step.value("type") !== "Chroot" || !isObject(container)) return;
  const { network, resources } = container;
  const policy = isObject(network) ? network["policy"] : network;
  const limits = isObject(resources) ? resources["limits"] : undefined;
  if (isObject(limits) && Object.keys(limits).length > 0) {
    const message = "has limits, which type: Chroot cannot enforce; remove container.resources, or use type: Container";
    step.error("Unsupported", "container", message);
  }
  if (policy === "Accessible" || policy === "Runner") return;
  const message =
    "needs network: Accessible with type: Chroot, which cannot isolate the network; write container.network: " +
    "Accessible, or use type: Container";
  step.error("Unsupported", "container", message);
}

export const TYPE: Schema<WrittenFunction["type"]> = choice("Container", "Webhook", "Wasm", "Chroot");

/** The targets of functions. A function has one of these fields, by its type. */
export const TARGETS: Fields<WrittenTarget> = { container: CONTAINER, webhook: WEBHOOK, wasm: WASM };

/** A field of {@link TARGETS}. */
export interface TargetField {
  readonly field: keyof WrittenTarget;
  /** The types that need it. Messages name the first. */
  readonly types: readonly [WrittenFunction["type"], ...WrittenFunction["type"][]];
  /** The value that belongs in it. */
  readonly needs: string;
  /** The function can have `cache`. */
  readonly isCacheable: boolean;
}

/** The properties of each field of {@link TARGETS}, for the checks of functions and of steps. */
export const TARGET_FIELDS: readonly TargetField[] = [
  {
    field: "container",
    types: ["Container", "Chroot"],
    needs: "the image to run, as container.image",
    isCacheable: true,
  },
  { field: "webhook", types: ["Webhook"], needs: "the server to call, as webhook.url", isCacheable: false },
  { field: "wasm", types: ["Wasm"], needs: "the module to run, as wasm.image", isCacheable: true },
];

/** A CEL expression: whether the type of a function is among these. */
function isOneOf([first, ...others]: TargetField["types"]): string {
  if (others.length === 0) return `self.type == '${first}'`;
  return `self.type in [${[first, ...others].map((type) => `'${type}'`).join(", ")}]`;
}

function isNoneOf(types: TargetField["types"]): string {
  return types.length === 1 ? `self.type != '${types[0]}'` : `!(${isOneOf(types)})`;
}

const FUNCTION_RULES: readonly Rule[] = [
  TIMEOUT_RULE,
  ...TARGET_FIELDS.map(
    ({ field, types, needs }): Rule => [`${isNoneOf(types)} || has(self.${field})`, `${field} is missing: ${needs}`],
  ),
  ...TARGET_FIELDS.map(
    ({ field, types }): Rule => [`${isOneOf(types)} || !has(self.${field})`, `${field} is for type: ${types[0]}`],
  ),
  CHROOT_RULE,
];

/** The most functions, and the most steps, of one Composition: from it an API server estimates the cost of rules. */
export const MAX_STEPS = 64;

/**
 * A function. A new type of function is a field of {@link TARGETS} with its schema, and an entry of
 * {@link TARGET_FIELDS}. Its TypeScript types are in `written.ts` and `composition.ts`, with one line in `normalize.ts`
 * between them; the compiler compares all of these with these tables.
 */
const FUNCTION = object<WrittenFunction>(
  {
    name: required(text(253), "a name for this step"),
    type: required(TYPE, "Container"),
    config: embeddedObject("a config"),
    io: IO,
    cache: CACHE,
    ...SETTINGS,
    ...TARGETS,
  },
  {
    rules: FUNCTION_RULES,
    variants: {
      uses: Object.fromEntries(
        TARGET_FIELDS.flatMap(({ field, types, needs }) => types.map((type) => [type, { [field]: needs }])),
      ),
    },
    check(one) {
      // Crossplane accepts an empty name, but messages could not say which step they are about.
      if (one.value("name") === "") one.warning("Required", "name", "is empty; give a name for this step");
      checkCache(one);
      checkType(one);
      checkChroot(one);
    },
  },
);

/** Reports the server of a container, and the container of a server. */
function checkType(one: FieldReader): void {
  const type = one.value("type");
  for (const { field, types } of TARGET_FIELDS) {
    const [other] = types;
    if (types.some((each) => each === type) || one.value(field) === undefined) continue;
    one.error("Invalid", field, `is for type: ${other}; remove it, or set type: ${other}`);
  }
}

/** The functions that run after the templates. */
export const FUNCTIONS: Schema<WrittenFunction[]> = list(FUNCTION, {
  maxItems: MAX_STEPS,
  rules: [["self.all(one, self.exists_one(other, other.name == one.name))", "names of functions are unique"]],
  check: (items) =>
    eachDuplicate(items, "name", (item, value, first) => {
      const message = `${JSON.stringify(value)} is also the name of functions[${first}]; names are unique`;
      item.error("Duplicate", "name", message);
    }),
});

function checkQuantity(value: JsonValue, owner: FieldReader, field: string): void {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") {
    return owner.error("Invalid", field, `expected a quantity such as 64Mi or 250m, found ${kindOf(value)}`);
  }
  const quantity = attempt<Quantity>(owner, field, () => parseQuantity(String(value)));
  if (quantity !== undefined && quantity.nanos <= 0n) {
    owner.error("Invalid", field, "must be more than zero; leave it out for no limit");
  }
}
