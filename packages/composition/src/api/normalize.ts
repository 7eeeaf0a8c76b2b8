import { parseDuration, parseQuantity, quantityToBytes, quantityToCores } from "@xfn/units";
import type {
  CompositionFunction,
  CompositionSpec,
  ContainerFunction,
  NamedTemplate,
  PipelineStep,
  TypeReference,
} from "./composition.ts";
import type { EnvironmentConfiguration, Patch, ResourceTemplate } from "./template.ts";
import type { WrittenContainer, WrittenFunction, WrittenSpec, WrittenStep } from "./written.ts";

/** Converts all spellings of a checked spec to one form, and fills in defaults. */
export function normalizeSpec(written: WrittenSpec, { apiVersion, kind }: TypeReference): CompositionSpec {
  const { mode, environment, pipeline, undesiredResources, writeConnectionSecretsToNamespace: namespace } = written;
  const to = written.to ?? undefined;
  return {
    compositeTypeRef: { apiVersion, kind },
    ...(mode && { mode }),
    resources: (to ?? written.resources ?? []).map(templateOf),
    ...(to && { resourcesField: "to" }),
    patchSets: (written.patchSets ?? []).map(({ name, patches }) => ({ name, patches: patchesOf(patches) })),
    ...(environment && { environment: environmentOf(environment) }),
    functions: (written.functions ?? []).map(functionOf),
    ...(pipeline && pipeline.length > 0 && { pipeline: pipeline.map(stepOf) }),
    undesiredResources: undesiredResources ?? "Keep",
    ...(isGiven(namespace) && { writeConnectionSecretsToNamespace: namespace }),
  };
}

function templateOf(template: ResourceTemplate, index: number): NamedTemplate {
  const { name, base, connectionDetails, readinessChecks } = template;
  return {
    name: name || `template-${index}`,
    base,
    ...(isFilled(template.patches) && { patches: patchesOf(template.patches) }),
    ...(isFilled(connectionDetails) && { connectionDetails }),
    ...(isFilled(readinessChecks) && { readinessChecks }),
  };
}

function environmentOf({ patches, ...rest }: EnvironmentConfiguration): EnvironmentConfiguration {
  return { ...rest, ...(isFilled(patches) && { patches: patchesOf(patches) }) };
}

/** Fills in the default type of patches: the engine, like Crossplane's, ignores a patch without a type. */
function patchesOf(patches: readonly Patch[] | undefined): Patch[] {
  return (patches ?? []).map((patch) => (patch.type ? patch : { ...patch, type: "FromCompositeFieldPath" }));
}

function stepOf({ step, functionRef, input }: WrittenStep): PipelineStep {
  return { step, functionRef: { name: functionRef.name }, ...(input && { input }) };
}

function functionOf({ name, type, config, container }: WrittenFunction): CompositionFunction {
  if (type !== "Container" || !container) throw new TypeError(`the function ${name} has not been checked`);
  return { name, type, container: containerOf(container), ...(config && { config }) };
}

function containerOf(container: WrittenContainer): ContainerFunction {
  const { image, imagePullPolicy, imagePullSecrets, timeout, network, resources, runner } = container;
  const policy = typeof network === "object" ? network?.policy : network;
  const { memory, cpu } = resources?.limits ?? {};
  return {
    image,
    imagePullSecrets: (imagePullSecrets ?? []).map((secret) => ({
      name: secret.name,
      ...(isGiven(secret.namespace) && { namespace: secret.namespace }),
    })),
    network: (policy ?? "Isolated") === "Isolated" ? "Isolated" : "Accessible",
    resources: {
      limits: {
        ...(isGiven(memory) && { memoryBytes: quantityToBytes(parseQuantity(String(memory))) }),
        ...(isGiven(cpu) && { cpus: quantityToCores(parseQuantity(String(cpu))) }),
      },
    },
    runner: isGiven(runner?.endpoint) ? { endpoint: runner.endpoint } : {},
    ...(isGiven(imagePullPolicy) && { imagePullPolicy }),
    ...(isGiven(timeout) && { timeoutMs: parseDuration(timeout) }),
  };
}

/** Null counts as absent. */
function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

function isFilled<T>(list: readonly T[] | undefined): list is T[] {
  return isGiven(list) && list.length > 0;
}
