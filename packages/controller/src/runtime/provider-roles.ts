import { type JsonObject, textAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { EDIT, VIEW } from "../definition/definition-roles.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, typeMeta } from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";
import { controllerReferenceTo, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import type { Manifest } from "./manifests.ts";
import { providedCrds, servedResources } from "./served-resources.ts";
import { annotated, hashOf, isApplied } from "./workload-objects.ts";

const AGGREGATE = "rbac.crossplane.io/aggregate-to";

/** A provider works for objects that others create and delete, so it has no right to delete. */
const WORK = [...VIEW, "create", "update", "patch"];

/**
 * The RBAC objects of providers in Deployments, as the RBAC manager of Crossplane creates them. They grant rights on
 * the kinds that the API server serves for CRDs of the provider, and not on those that the CRDs name.
 */
export class ProviderRoles {
  readonly #context: Context;
  /** For what they were written last, by the UID of the runtime: each process reads them once. */
  readonly #written: Map<string, string> = new Map();
  /** By the UID of the runtime: an event is not repeated. */
  readonly #refused: Set<string> = new Set();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Whether this process has seen or written the objects that a runtime needs. */
  areSettled(runtime: LiveObject, account: string): boolean {
    return this.#written.get(runtime.metadata.uid) === subjectOf(this.#context, runtime, account);
  }

  /**
   * Writes the roles on the kinds of a provider, and binds one of them to its service account. A right that the
   * controller lacks is only reported by an event: other roles may serve the provider.
   *
   * @returns the names of CRDs that the API server does not serve yet; call it again for them
   * @throws {ApiError}
   */
  async ensure(runtime: LiveObject, account: string, signal: AbortSignal): Promise<readonly string[]> {
    const subject = subjectOf(this.#context, runtime, account);
    const { served, pending } = await servedResources(this.#context, runtime, signal);
    const objects = this.#objects(runtime, account, served);
    const { uid } = runtime.metadata;
    try {
      // A binding to a role of another owner would grant what that role says.
      for (const object of objects) if (!(await this.#apply(runtime, object, signal))) return [];
      if (pending.length === 0) this.#written.set(uid, subject);
      this.#refused.delete(uid);
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
      const message = `cannot grant the provider its rights: ${error.message}; deploy deploy/providers, or grant them yourself`;
      this.#warn(runtime, "CannotGrant", message);
    }
    return pending;
  }

  /** Forgets a runtime that is gone. */
  forget(uid: string): void {
    this.#written.delete(uid);
    this.#refused.delete(uid);
  }

  /** @returns whether the object is as desired */
  async #apply(runtime: LiveObject, object: Manifest, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#context;
    const existing = await findLive(this.#context, referenceTo(object), signal);
    if (existing !== undefined && !isControlledBy(existing, runtime)) {
      const title = `${textAt(object, "kind")} ${object.metadata.name}`;
      this.#warn(runtime, "RoleOfAnother", `the ${title} belongs to another owner and is left alone; delete it`);
      return false;
    }
    if (isApplied(existing, object)) return true;
    const force = existing !== undefined;
    await client.apply(annotated(object, existing), { fieldManager: FIELD_MANAGERS.runtime, force, signal });
    return true;
  }

  #warn(runtime: LiveObject, reason: string, message: string): void {
    if (this.#refused.has(runtime.metadata.uid)) return;
    this.#refused.add(runtime.metadata.uid);
    this.#context.events.record(runtime, { type: "Warning", reason, message });
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
    const system = role(
      "system",
      [],
      [
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
        subjects: [{ kind: "ServiceAccount", name: account, namespace: this.#context.namespace }],
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

/** The hash of the inputs of a runtime's roles. */
function subjectOf(context: Context, runtime: LiveObject, account: string): string {
  return hashOf([account, providedCrds(context, runtime)]);
}
