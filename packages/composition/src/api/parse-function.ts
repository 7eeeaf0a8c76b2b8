import type { JsonValue } from "@xfn/functionio";
import { isObject } from "@xfn/functionio";
import {
  DurationError,
  parseDuration,
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityToBytes,
  quantityToCores,
} from "@xfn/units";
import type { FieldReader } from "../reader/field-reader.ts";
import { kindOf } from "../values/json.ts";
import {
  type CompositionFunction,
  type ContainerFunction,
  type ContainerFunctionResources,
  type ImagePullSecret,
  MAX_TIMEOUT_MS,
  type NetworkPolicy,
} from "./composition.ts";

/** The `functions` of a Composition's spec. Undefined if one of them has an error. */
export function readFunctions(spec: FieldReader): CompositionFunction[] | undefined {
  const names = new Map<string, number>();
  const readers = spec.objects("functions");
  const functions: CompositionFunction[] = [];
  for (const reader of readers) {
    const read = readFunction(reader);
    const name = reader.string("name");
    const index = reader.path.at(-1) as number;
    const first = name === undefined ? undefined : names.get(name);
    if (first !== undefined) {
      reader.error(
        "Duplicate",
        "name",
        `${JSON.stringify(name)} is also the name of functions[${first}]; names are unique`,
      );
    } else if (name !== undefined) names.set(name, index);
    if (read !== undefined) functions.push(read);
  }
  return functions.length === readers.length ? functions : undefined;
}

function readFunction(reader: FieldReader): CompositionFunction | undefined {
  const name = reader.required("name", reader.string("name"), "a name for this step");
  // Crossplane accepts it; in messages nobody will know which step is meant.
  if (name === "") reader.warning("Required", "name", "is empty; give a name for this step");
  const type = reader.text("type", "Container");
  if (type === "Webhook" || type === "Chroot") {
    reader.error("Unsupported", "type", `${type} is not supported yet; use type: Container`);
  } else if (type !== undefined && type !== "Container") {
    reader.error("Invalid", "type", `${JSON.stringify(type.slice(0, 64))} is not a function type; use type: Container`);
  }
  const config = readConfig(reader);
  const containerReader = reader.object("container");
  const container = containerReader && readContainer(containerReader);
  if (type === "Container") reader.required("container", containerReader, "the image to run, as container.image");
  reader.warnUnknown(type === "Webhook" ? ["webhook"] : type === "Chroot" ? ["chroot"] : []);
  if (name === undefined || type !== "Container" || container === undefined) return undefined;
  return { name, type, container, ...(config !== undefined && { config }) };
}

function readConfig(reader: FieldReader): CompositionFunction["config"] {
  const config = reader.object("config");
  const value = reader.value("config");
  if (config === undefined || !isObject(value)) return undefined;
  for (const field of ["apiVersion", "kind"]) {
    if (config.string(field) === undefined) {
      config.warning("Required", field, "is missing; a Kubernetes API server refuses a config without it");
    }
  }
  return value;
}

function readContainer(reader: FieldReader): ContainerFunction | undefined {
  const image = reader.text("image", "the OCI image to run");
  const pullPolicy = reader.oneOf("imagePullPolicy", ["IfNotPresent", "Always", "Never"]);
  const secrets = reader.objects("imagePullSecrets").map(readSecret);
  const timeoutMs = readTimeout(reader);
  const network = readNetwork(reader);
  const resources = readResources(reader.object("resources"));
  const runner = reader.object("runner");
  const endpoint = runner?.string("endpoint");
  runner?.warnUnknown();
  reader.warnUnknown();
  if (image === undefined) return undefined;
  return {
    image,
    imagePullSecrets: secrets.filter((secret) => secret !== undefined),
    network,
    resources,
    runner: endpoint === undefined ? {} : { endpoint },
    ...(pullPolicy !== undefined && { imagePullPolicy: pullPolicy }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}

function readSecret(reader: FieldReader): ImagePullSecret | undefined {
  const name = reader.text("name", "the name of a Secret");
  const namespace = reader.string("namespace");
  reader.warnUnknown();
  return name === undefined ? undefined : { name, ...(namespace !== undefined && { namespace }) };
}

function readTimeout(reader: FieldReader): number | undefined {
  const value = reader.value("timeout");
  if (value === undefined) return undefined;
  if (typeof value !== "string") {
    reader.error("Invalid", "timeout", `expected a duration such as 30s, found ${kindOf(value)}`);
    return undefined;
  }
  const ms = attempt(reader, "timeout", () => parseDuration(value));
  if (ms === undefined) return undefined;
  if (ms <= 0) reader.error("Invalid", "timeout", "must be more than zero; leave it out for the default of 10s");
  if (ms > MAX_TIMEOUT_MS) reader.error("Invalid", "timeout", "is longer than the 596h that a timeout can be");
  return ms;
}

/** The seed writes `network: Accessible`; Crossplane v1.13 shipped `network: {policy: Runner}`. Both are read. */
function readNetwork(reader: FieldReader): NetworkPolicy {
  if (!isObject(reader.value("network"))) {
    return reader.oneOf("network", ["Isolated", "Accessible"]) ?? "Isolated";
  }
  const network = reader.object("network");
  const policy = network?.oneOf("policy", ["Isolated", "Runner", "Accessible"]);
  network?.warnUnknown();
  return policy === undefined || policy === "Isolated" ? "Isolated" : "Accessible";
}

function readResources(reader: FieldReader | undefined): ContainerFunctionResources {
  const limits = reader?.object("limits");
  const memory = readLimit(limits, "memory");
  const cpu = readLimit(limits, "cpu");
  for (const field of Object.keys((reader?.value("limits") as object | undefined) ?? {})) {
    if (field === "memory" || field === "cpu") continue;
    // A limit that nothing enforces is worse than none: its author relies on it.
    limits?.error("Unsupported", field, "is not a limit that functions can have; there are memory and cpu");
  }
  if (reader?.value("requests") !== undefined) {
    reader.warning("Ignored", "requests", "has no effect: functions have limits only");
  }
  reader?.warnUnknown();
  return {
    limits: {
      ...(memory !== undefined && { memoryBytes: quantityToBytes(memory) }),
      ...(cpu !== undefined && { cpus: quantityToCores(cpu) }),
    },
  };
}

function readLimit(limits: FieldReader | undefined, field: string): Quantity | undefined {
  const value = limits?.value(field);
  if (limits === undefined || value === undefined) return undefined;
  const text = quantityText(value);
  if (text === undefined) {
    limits.error("Invalid", field, `expected a quantity such as 64Mi or 250m, found ${kindOf(value)}`);
    return undefined;
  }
  const quantity = attempt(limits, field, () => parseQuantity(text));
  if (quantity !== undefined && quantity.nanos <= 0n) {
    limits.error("Invalid", field, "must be more than zero; leave it out for no limit");
  }
  return quantity;
}

/** YAML reads `cpu: 1` as a number; Kubernetes accepts that for a quantity. */
function quantityText(value: JsonValue): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint"
    ? String(value)
    : undefined;
}

function attempt<T>(reader: FieldReader, field: string, parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof QuantityError) && !(error instanceof DurationError)) throw error;
    reader.error("Invalid", field, error.message);
    return undefined;
  }
}
