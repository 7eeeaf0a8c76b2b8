import { type JsonObject, textAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { EDIT, VIEW } from "../definition/definition-roles.ts";
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CRDS, PROVIDER_REVISIONS, typeMeta } from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";
import { controllerReferenceTo, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { startsSafely } from "../package/managed/managed-definition.ts";
import type { Cluster } from "../package/package-port.ts";
import { execute } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { planInOrder } from "../plan/plan.ts";
import { hashOf } from "./hash.ts";
import type { Manifest } from "./manifests.ts";
import { applied, isApplied } from "./plan-workload.ts";
import { providedCrds, revisionsOf, servedResources } from "./served-resources.ts";

const AGGREGATE = "rbac.crossplane.io/aggregate-to";

/** A provider works for objects that others create and delete, so it has no right to delete. */
const WORK = [...VIEW, "create", "update", "patch"];

/**
 * The RBAC objects of providers in Deployments, as the RBAC manager of Crossplane creates them. They grant rights on
 * the kinds that the API server serves for CRDs of the provider, and not on those that the CRDs name.
 */
export class ProviderRoles {
  readonly #cluster: Cluster;
  /** For what they were written last, by the UID of the runtime: each process reads them once. */
  readonly #written: Map<string, string> = new Map();
  /** By the UID of the runtime: an event is not repeated. */
  readonly #refused: Set<string> = new Set();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Whether this process has seen or written the objects that a runtime needs. */
  areWritten(runtime: LiveObject, account: string): boolean {
    return this.#written.get(runtime.metadata.uid) === subjectOf(this.#cluster, runtime, account);
  }

  /**
   * Writes the roles on the kinds of a provider, and binds one of them to its service account. A right that the
   * controller lacks is only reported by an event: other roles may serve the provider.
   *
   * @returns the names of CRDs that the API server does not serve yet; call it again for them
   * @throws {ApiError}
   */
  async ensure(runtime: LiveObject, account: string, signal: AbortSignal): Promise<readonly string[]> {
    const subject = subjectOf(this.#cluster, runtime, account);
    const { served, pending } = await servedResources(this.#cluster, runtime, signal);
    const seen: { manifest: Manifest; existing: LiveObject | undefined }[] = [];
    try {
      for (const manifest of this.#objects(runtime, account, served))
        seen.push({ manifest, existing: await findLive(this.#cluster, referenceTo(manifest), signal) });
    } catch (error) {
      this.#reportForbidden(runtime, error);
      return pending;
    }
    const foreign = seen.findIndex(({ existing }) => existing !== undefined && !isControlledBy(existing, runtime));
    // A binding to a role of another owner would grant what that role says.
    const writable = foreign === -1 ? seen : seen.slice(0, foreign);
    const applies = writable.filter(({ manifest, existing }) => !isApplied(existing, manifest)).map(applied);
    const outcome = await execute(planInOrder("roles", applies), { actors: { own: this.#cluster }, signal });
    const error = firstFailure(outcome)?.error;
    if (error !== undefined) {
      this.#reportForbidden(runtime, error);
      return pending;
    }
    const other = seen[foreign]?.manifest;
    if (other !== undefined) {
      const title = `${textAt(other, "kind")} ${other.metadata.name}`;
      this.#warn(runtime, "RoleOfAnother", `the ${title} belongs to another owner and is left alone; delete it`);
      return [];
    }
    if (pending.length === 0) this.#written.set(runtime.metadata.uid, subject);
    this.#refused.delete(runtime.metadata.uid);
    return pending;
  }

  /** Forgets a runtime that is gone. */
  forget(uid: string): void {
    this.#written.delete(uid);
    this.#refused.delete(uid);
  }

  /** @throws {unknown} another error */
  #reportForbidden(runtime: LiveObject, error: unknown): void {
    if (!isApiError(error, "Forbidden")) throw error;
    const message = `cannot grant the provider its rights: ${error.message}; deploy deploy/providers, or grant them yourself`;
    this.#warn(runtime, "CannotGrant", message);
  }

  #warn(runtime: LiveObject, reason: string, message: string): void {
    if (this.#refused.has(runtime.metadata.uid)) return;
    this.#refused.add(runtime.metadata.uid);
    this.#cluster.events.record(runtime, { type: "Warning", reason, message });
  }

  /** @param groups plurals by their API group */
  #objects(runtime: LiveObject, account: string, groups: ReadonlyMap<string, readonly string[]>): Manifest[] {
    if (groups.size === 0) return [];
    const rules = (suffix: string, verbs: readonly string[]): JsonObject[] =>
      [...groups].map(([group, plurals]) => ({
        apiGroups: [group],
        resources: plurals.map((plural) => `${plural}${suffix}`),
        verbs: [...verbs],
      }));
    const role = (suffix: string, roles: readonly string[], content: readonly JsonObject[]): Manifest => ({
      ...typeMeta(CLUSTER_ROLES),
      metadata: metadataOf(runtime, suffix, roles),
      rules: [...content],
    });
    const isSafe = startsSafelyIn(this.#cluster, runtime);
    const system = role(
      "system",
      [],
      [
        // It waits for its kinds.
        ...(isSafe ? [{ apiGroups: [CRDS.group], resources: [CRDS.plural], verbs: [...VIEW] }] : []),
        ...rules("", WORK),
        ...rules("/status", WORK),
        ...rules("/finalizers", ["update"]),
        {
          apiGroups: ["", "coordination.k8s.io"],
          resources: ["secrets", "configmaps", "events", "leases"],
          verbs: [...EDIT],
        },
      ],
    );
    return [
      role("aggregate-to-edit", ["crossplane", "admin", "edit"], rules("", EDIT)),
      role("aggregate-to-view", ["view"], rules("", VIEW)),
      system,
      {
        ...typeMeta(CLUSTER_ROLE_BINDINGS),
        metadata: metadataOf(runtime, "system", []),
        roleRef: { apiGroup: CLUSTER_ROLES.group, kind: CLUSTER_ROLES.kind, name: system.metadata.name },
        subjects: [{ kind: "ServiceAccount", name: account, namespace: this.#cluster.namespace }],
      },
    ];
  }
}

function metadataOf(runtime: LiveObject, suffix: string, roles: readonly string[]): Manifest["metadata"] {
  const { name } = runtime.metadata;
  const labels: Record<string, string> = { [LABEL_RUNTIME]: labelValue(name) };
  for (const one of roles) labels[`${AGGREGATE}-${one}`] = "true";
  return {
    name: `crossplane:provider:${name}:${suffix}`,
    labels,
    ownerReferences: [controllerReferenceTo(runtime)],
  };
}

/** Whether a provider can start without its kinds. */
function startsSafelyIn(cluster: Cluster, runtime: LiveObject): boolean {
  return revisionsOf(cluster, runtime).some((one) => startsSafely(PROVIDER_REVISIONS.of(one).status.capabilities));
}

/** The hash of the inputs of a runtime's roles. */
function subjectOf(cluster: Cluster, runtime: LiveObject, account: string): string {
  return hashOf([account, providedCrds(cluster, runtime), startsSafelyIn(cluster, runtime)]);
}
