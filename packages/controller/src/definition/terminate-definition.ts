import { lowerDefinition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import {
  type ApiError,
  type Client,
  isApiError,
  type LiveObject,
  type Outcome,
  type ResourceKind,
} from "@xfn/kubernetes";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import {
  FINALIZER_DEFINED,
  FINALIZER_FOREGROUND,
  FINALIZER_OFFERED,
  FINALIZER_ORPHAN,
  finalizersOf,
} from "../objects/finalizers.ts";
import { CRDS, DEFINITIONS, INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { servedVersions } from "../objects/served-versions.ts";
import type { Action } from "../plan/action.ts";
import { executeOne } from "../plan/execute.ts";
import type { DefinitionPort } from "./definition-port.ts";
import { PATCH, planStatus } from "./definition-status.ts";

/** The number of concurrent deletes: a definition may have thousands of instances. */
const DELETE_CONCURRENCY = 16;

const TERMINATING = "TerminatingCompositeResource";

/**
 * Deletes the objects of a definition: its claims, which delete their composites, then the other composites, then the
 * CRDs. Then removes the finalizers. The controllers of its kinds run until then, because deleting instances needs
 * them.
 *
 * With `--cascade=orphan`, CRDs and instances stay. With `--cascade=foreground`, the instances are also deleted in the
 * foreground.
 */
export async function terminateDefinition(
  port: DefinitionPort,
  written: LiveObject,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const definition: LiveObject = { ...written, ...lowerDefinition(written) };
  const finalizers = finalizersOf(definition);
  if (!finalizers.includes(FINALIZER_DEFINED) && !finalizers.includes(FINALIZER_OFFERED)) return undefined;
  let wait: Wait | undefined;
  let failure: ApiError | undefined;
  if (!finalizers.includes(FINALIZER_ORPHAN)) {
    wait = await publicationWait(port, definition, signal);
    for (const names of ["claimNames", "names"] as const) {
      try {
        const step = wait === undefined ? await removalOf(port, definition, names, signal) : undefined;
        if (step === undefined) continue;
        await deleteAll(port, step.deletions, signal);
        wait = step;
      } catch (error) {
        if (signal.aborted || !isApiError(error) || error.code === "Conflict") throw error;
        failure = error;
        const message = `its ${names === "names" ? "composites" : "claims"} cannot be deleted: ${error.message}`;
        if (conditionOf(definition, "Established")?.["message"] !== message)
          port.events.record(definition, { type: "Warning", reason: TERMINATING, message });
        wait = { message, ms: REQUEUE_AFTER_MS.instancesDeletion };
      }
    }
  }
  if (wait !== undefined) {
    await executeOne(port, planTerminating(definition, wait.message, port.now()), signal);
    if (failure !== undefined) throw failure;
    return { requeueAfterMs: wait.ms };
  }
  const others = finalizers.filter((one) => one !== FINALIZER_DEFINED && one !== FINALIZER_OFFERED);
  const change = { why: "its objects are deleted", body: { metadata: { finalizers: others } }, seen: definition };
  await executeOne(port, { ...PATCH, on: referenceTo(definition), ...change }, signal);
  port.client.forgetKinds();
  return undefined;
}

/** The reason and the duration of a wait during the termination. */
interface Wait {
  readonly message: string;
  readonly ms: number;
}

/** Requirements may still depend on composites, so the publication deletes them first. */
async function publicationWait(
  { client }: DefinitionPort,
  { kind, metadata }: LiveObject,
  signal: AbortSignal,
): Promise<Wait | undefined> {
  if (kind !== INFRASTRUCTURE_DEFINITIONS.kind) return undefined;
  const publication = await findLive({ client }, referenceOf(PUBLICATIONS, metadata.name), signal);
  const message = `waits for the InfrastructurePublication ${metadata.name}: delete it, with its requirements`;
  return publication && { message, ms: REQUEUE_AFTER_MS.instancesDeletion };
}

function planTerminating(definition: LiveObject, message: string, now: number): Action | undefined {
  const offers = DEFINITIONS.of(definition).spec.claimNames.kind !== undefined;
  const common = { status: "False", message } as const;
  const conditions = [
    ...(definition.kind === PUBLICATIONS.kind ? [] : [{ ...common, type: "Established", reason: TERMINATING }]),
    ...(offers ? [{ ...common, type: "Offered", reason: "TerminatingCompositeResourceClaim" }] : []),
  ];
  return planStatus(definition, { conditions, controllers: {} }, now).action;
}

/** A step of the termination. */
interface Removal extends Wait {
  readonly deletions: readonly Action[];
}

/**
 * Plans to delete the instances of a kind, or its CRD after them. Leaves a CRD of another owner and its instances
 * unchanged.
 *
 * @returns undefined when the CRD is gone
 */
async function removalOf(
  { client }: DefinitionPort,
  definition: LiveObject,
  names: "names" | "claimNames",
  signal: AbortSignal,
): Promise<Removal | undefined> {
  const { spec } = DEFINITIONS.of(definition);
  const { plural } = spec[names];
  if (plural === undefined || spec.group === undefined) return undefined;
  const crd = await findLive({ client }, referenceOf(CRDS, `${plural}.${spec.group}`), signal);
  if (crd === undefined || !isControlledBy(crd, definition)) return undefined;
  const kind = kindOf(crd);
  const instances = kind === undefined ? [] : await listInstances(client, crd, kind, signal);
  const [first] = instances ?? [];
  if (kind !== undefined && instances !== undefined && first !== undefined) {
    const policy = finalizersOf(definition).includes(FINALIZER_FOREGROUND) ? "Foreground" : undefined;
    const remaining = instances.filter((instance) => !isBeingDeleted(instance));
    return {
      message: `waits for ${instances.length} ${kind.plural} to be deleted, such as ${first.metadata.name}`,
      ms: REQUEUE_AFTER_MS.instancesDeletion,
      deletions: remaining.map((instance) => planDeletion(instance, kind, policy)),
    };
  }
  const isDeletable = instances !== undefined && !isBeingDeleted(crd);
  return {
    message: `waits for the CustomResourceDefinition ${crd.metadata.name} to be deleted`,
    ms: REQUEUE_AFTER_MS.crdDeletion,
    deletions: isDeletable ? [planDeletion(crd, CRDS)] : [],
  };
}

function planDeletion(seen: LiveObject, kind: ResourceKind, propagation?: "Foreground"): Action {
  const on = referenceOf(kind, seen.metadata.name, seen.metadata.namespace);
  const change = { do: "delete", seen, guard: "uid", propagation } as const;
  return { as: "own", on, manager: FIELD_MANAGERS.definition, why: "its definition is deleted", ...change };
}

/** The kind that a CRD serves. Its names may differ from the names in a changed definition. */
function kindOf(crd: LiveObject): ResourceKind | undefined {
  const served = servedVersions(crd);
  const version = textAt(served.find((one) => one["storage"] === true) ?? served[0], "name");
  const group = textAt(crd, "spec", "group");
  const kind = textAt(crd, "spec", "names", "kind");
  const plural = textAt(crd, "spec", "names", "plural");
  if (version === undefined || group === undefined || kind === undefined || plural === undefined) return undefined;
  return { group, version, kind, plural, namespaced: textAt(crd, "spec", "scope") === "Namespaced" };
}

/**
 * Lists the instances of a kind; undefined while the server does not serve it. A server stops serving a kind before its
 * deleted CRD is gone, and starts some time after it establishes the CRD.
 */
async function listInstances(
  client: Client,
  crd: LiveObject,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  try {
    return (await client.list(kind, { signal })).items;
  } catch (error) {
    if (!isApiError(error, "KindNotServed", "NotFound")) throw error;
    // A CRD that was never established has no instances.
    return isTrue(crd, "Established") ? undefined : [];
  }
}

/** Deletes these objects, but not others that have their names by now. */
async function deleteAll(port: DefinitionPort, deletions: readonly Action[], signal: AbortSignal): Promise<void> {
  for (let start = 0; start < deletions.length; start += DELETE_CONCURRENCY) {
    const batch = deletions.slice(start, start + DELETE_CONCURRENCY).map(async (deletion) => {
      await executeOne(port, deletion, signal).catch((error: unknown) => {
        if (!isApiError(error, "Conflict")) throw error;
      });
    });
    await Promise.all(batch);
  }
}
