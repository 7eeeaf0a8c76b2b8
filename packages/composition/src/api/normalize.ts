import { parseDuration, parseQuantity, quantityToBytes, quantityToCores } from "@xfn/units";
import type {
  CompositionFunction,
  CompositionSpec,
  ContainerFunction,
  FunctionReference,
  NamedTemplate,
  PackageStep,
  RequiredResource,
  Rollout,
  Step,
  TypeReference,
  WebhookFunction,
} from "./composition.ts";
import { ROLLOUT_DEFAULTS } from "./rollout.ts";
import { settingsOf } from "./step-settings.ts";
import type { EnvironmentConfiguration, Patch, ResourceTemplate } from "./template.ts";
import type {
  WrittenContainer,
  WrittenFunction,
  WrittenPackageStep,
  WrittenRollout,
  WrittenSpec,
  WrittenStep,
  WrittenWebhook,
} from "./written.ts";

/** Converts all spellings of a checked spec to one form, and fills in defaults. */
export function normalizeSpec(written: WrittenSpec, { apiVersion, kind }: TypeReference): CompositionSpec {
  const { mode, environment, pipeline, undesiredResources, writeConnectionSecretsToNamespace: namespace } = written;
  const to = written.to ?? undefined;
  const { serviceAccountRef: account } = written;
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
    ...(isGiven(written.rollout) && { rollout: rolloutOf(written.rollout) }),
    ...(isGiven(account) && { serviceAccountRef: { namespace: account.namespace, name: account.name } }),
  };
}

function rolloutOf({ shadow, canary, analysis }: WrittenRollout): Rollout {
  const { percent, matchLabels } = canary;
  return {
    shadowComposites: shadow?.composites ?? 0,
    canary: isGiven(matchLabels) ? { matchLabels: withoutNulls(matchLabels) } : { percent: percent ?? 100 },
    durationMs: isGiven(analysis?.duration) ? parseDuration(analysis.duration) : ROLLOUT_DEFAULTS.durationMs,
    maxFailures: analysis?.maxFailures ?? ROLLOUT_DEFAULTS.maxFailures,
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

function stepOf(written: WrittenStep): Step {
  const { step: name, type, container, webhook, wasm } = written;
  const shared = { ...written, name };
  if (isGiven(container)) {
    return functionOf({ ...shared, type: type === "Chroot" ? type : "Container", container });
  }
  if (isGiven(wasm)) return functionOf({ ...shared, type: "Wasm", wasm });
  if (isGiven(webhook)) return functionOf({ ...shared, type: "Webhook", webhook });
  return { ...packageStepOf(written), ...settingsOf(written) };
}

/** A step that calls a function package, without the settings that only Compositions have. */
export function packageStepOf(written: WrittenPackageStep): PackageStep {
  const { step: name, functionRef, input, credentials, requirements } = written;
  return {
    name,
    type: "Package",
    functionRef: referenceOf(name, functionRef),
    ...(input && { input }),
    credentials: (credentials ?? []).flatMap(({ name: credential, secretRef }) =>
      isGiven(secretRef)
        ? [{ name: credential, secretRef: { namespace: secretRef.namespace, name: secretRef.name } }]
        : [],
    ),
    requirements: {
      resources: (requirements?.requiredResources ?? []).map(requiredOf),
      schemas: (requirements?.requiredSchemas ?? []).map(({ requirementName, apiVersion, kind }) => {
        return { requirementName, apiVersion, kind };
      }),
    },
  };
}

function referenceOf(step: string, written: WrittenStep["functionRef"]): FunctionReference {
  if (written?.name) return { name: written.name };
  if (written?.package) return { package: written.package };
  throw new TypeError(`the step ${step} has not been checked`);
}

function requiredOf(written: RequiredResource): RequiredResource {
  const { requirementName, apiVersion, kind, namespace, name, matchLabels } = written;
  return {
    requirementName,
    apiVersion,
    kind,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(matchLabels && { matchLabels: withoutNulls(matchLabels) }),
  };
}

/** Kubernetes drops null values of a map. */
function withoutNulls(labels: { [label: string]: string }): { [label: string]: string } {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => isGiven(value)));
}

function functionOf(written: WrittenFunction): CompositionFunction {
  const { name, type, config, io, cache, webhook } = written;
  const settings = settingsOf(written);
  const { timeoutMs } = settings;
  const shared = { ...settings, ...(config && { config }), ...(io && { io }) };
  if (type === "Webhook" && webhook) return { name, type, webhook: webhookOf(webhook, timeoutMs), ...shared };
  const container = type === "Wasm" ? written.wasm : written.container;
  if (type === "Webhook" || !container) throw new TypeError(`the function ${name} has not been checked`);
  return {
    name,
    type,
    container: containerOf(container, timeoutMs),
    ...shared,
    ...(cache && { cache: { ttlMs: parseDuration(cache.ttl) } }),
  };
}

/** @param timeoutMs the timeout of the step, which applies to a function that has none */
function containerOf(container: WrittenContainer, timeoutMs: number | undefined): ContainerFunction {
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
    ...functionTimeout(timeout, timeoutMs),
  };
}

function functionTimeout(written: string | undefined, timeoutMs: number | undefined): { timeoutMs?: number } {
  if (isGiven(written)) return { timeoutMs: parseDuration(written) };
  return timeoutMs === undefined ? {} : { timeoutMs };
}

/** @param timeoutMs the timeout of the step, which applies to a function that has none */
function webhookOf(
  { url, service, caBundle, credentials, timeout }: WrittenWebhook,
  timeoutMs: number | undefined,
): WebhookFunction {
  return {
    url: isGiven(service) ? urlOf(service) : (url ?? ""),
    ...(isGiven(caBundle) && { caBundle: atob(caBundle) }),
    ...(isGiven(credentials) && { credentials: { secretRef: { ...credentials.secretRef } } }),
    ...functionTimeout(timeout, timeoutMs),
  };
}

/** The names of the API server's webhooks: their certificates are for `NAME.NAMESPACE.svc`. */
function urlOf({ namespace, name, path, port }: NonNullable<WrittenWebhook["service"]>): string {
  return `https://${name}.${namespace}.svc${isGiven(port) && Number(port) !== 443 ? `:${port}` : ""}${path ?? "/"}`;
}

/** Null counts as absent. */
function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

function isFilled<T>(list: readonly T[] | undefined): list is T[] {
  return isGiven(list) && list.length > 0;
}
