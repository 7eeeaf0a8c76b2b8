import type { Definition } from "@xfn/composition/definition";
import { apiVersionOf, type Client, type InformerHandlers, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { compositeTypeOf } from "../kinds/compositions.ts";
import { isTrue } from "../objects/conditions.ts";
import type { InstanceProblems } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { COMPOSITIONS, DEFINITIONS, definitionKey, definitionKindOf, groupKind } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { describeFailure } from "./describe-failure.ts";
import {
  BY_COMPOSITION,
  BY_REVISION,
  hasSameKinds,
  InstanceControllers,
  type InstanceOptions,
} from "./instance-controllers.ts";
import type { KindController } from "./kind-controller.ts";

interface Entry {
  readonly controllers: InstanceControllers;
  /** The state that the controllers use. A change of the status does not affect it. */
  generation: string;
}

/** Starts, replaces and stops the controllers of instances when their definitions are added, changed and deleted. */
export class DefinitionControllers {
  readonly #options: InstanceOptions;
  readonly #entries: Map<string, Entry> = new Map();
  /** By group and kind. If two definitions briefly have the same kind, the earlier one keeps it until its end. */
  readonly #byKind: Map<string, InstanceControllers> = new Map();
  readonly #stopping: Set<Promise<void>> = new Set();

  constructor(options: InstanceOptions) {
    this.#options = options;
  }

  /** Handles a definition that was added or changed. */
  changed(object: LiveObject): void {
    const name = keyOf(object);
    const entry = this.#entries.get(name);
    if (entry === undefined && !isServed(object, "Established")) return;
    const isUnchanged = entry?.generation === this.#generationOf(object);
    const definition = isUnchanged ? entry?.controllers.definition : this.#options.reconcilers.readDefinition(object);
    // While the new state has errors, the controllers run with the previous one.
    if (definition === undefined) {
      if (entry === undefined) this.#warnOfErrors(object);
      return;
    }
    if (!isUnchanged) this.#update(name, definition, object);
    const current = this.#entries.get(name)?.controllers;
    if (current !== undefined) this.#updateClaims(name, current, object);
  }

  /** Stops the controllers of a deleted definition. */
  deleted(object: LiveObject): void {
    this.#end(keyOf(object));
  }

  /** Why the instances of a definition cannot be listed, by its `definitionKey`. */
  problemsOf(name: string): InstanceProblems {
    const controllers = this.#entries.get(name)?.controllers;
    return { composites: controllers?.composites.problem, claims: controllers?.claims?.problem };
  }

  /** The definition whose composites or claims have a kind. */
  definitionOf({ group, plural }: ResourceKind): Definition | undefined {
    for (const { controllers } of this.#entries.values()) {
      const kinds = [controllers.composites.kind, controllers.claims?.kind];
      if (kinds.some((kind) => kind?.group === group && kind.plural === plural)) return controllers.definition;
    }
    return undefined;
  }

  /** The controller of a kind of composites, in any version. */
  composites(apiVersion: string, kind: string): KindController | undefined {
    return this.#byKind.get(groupKind(apiVersion, kind))?.composites;
  }

  /**
   * Reconciles the composites that use a Composition or one of its revisions, and the composites without a Composition.
   *
   * @param object the Composition or the revision
   */
  enqueueUsersOf(object: LiveObject): void {
    const composition = object.kind === COMPOSITIONS.kind ? object.metadata.name : controllerOf(object)?.name;
    const { apiVersion, kind } = compositeTypeOf(object);
    if (composition === undefined || apiVersion === undefined || kind === undefined) return;
    const instances = this.#byKind.get(groupKind(apiVersion, kind));
    if (instances === undefined) return;
    const { composites, definition } = instances;
    // Composites use the enforced Composition, even if they name another.
    if (definition.spec.enforcedCompositionRef?.name === composition) return composites.enqueueAll();
    const users = [composition, ""].flatMap((key) => composites.cache.byIndex(BY_COMPOSITION, key));
    const pinned = composites.cache.byIndex(BY_REVISION, object.metadata.name);
    composites.enqueueAll([...new Set([...users, ...pinned])]);
  }

  /** Reconciles the users of a Composition when it is added, changed or deleted. */
  get compositionHandlers(): InformerHandlers {
    const used = (composition: LiveObject): void => this.enqueueUsersOf(composition);
    return {
      added: used,
      // A change of only the status does not affect the selection.
      updated: (composition, before) => {
        if (selectedBy(composition) !== selectedBy(before)) used(composition);
      },
      deleted: used,
    };
  }

  async stop(graceMs?: number): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#byKind.clear();
    await Promise.all([...entries.map(({ controllers }) => controllers.stop(graceMs)), ...this.#stopping]);
  }

  #update(name: string, definition: Definition, object: LiveObject): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined && hasSameKinds(definition, entry.controllers.definition)) {
      entry.generation = this.#generationOf(object);
      entry.controllers.replace(definition);
    } else if (storesVersionOf(object, definition)) {
      // The controllers cannot use another version before the server stores it, and the server may refuse it.
      this.#end(name);
      this.#begin(name, definition, this.#generationOf(object));
    } else if (entry === undefined) {
      // The server refuses the new version. After a restart too, instances are reconciled in the version that it
      // serves. Without a generation, the next change of the status is compared with the definition again.
      this.#begin(name, inStoredVersion(object, definition), "");
    }
  }

  /** Reports a definition whose instances exist but have not been reconciled since the controller started. */
  #warnOfErrors(definition: LiveObject): void {
    const { log, events } = this.#options.context;
    const message = "its instances are not reconciled until its errors are fixed";
    log.warn({ definition: definition.metadata.name }, message);
    events.record(definition, { type: "Warning", reason: "InvalidDefinition", message });
  }

  #begin(name: string, definition: Definition, generation: string): void {
    const { client, log } = this.#options.context;
    const controllers = new InstanceControllers(this.#options, definition);
    const key = kindKey(definition);
    if (!this.#byKind.has(key)) this.#byKind.set(key, controllers);
    this.#entries.set(name, { controllers, generation });
    forgetKindsOf(client, definition);
    log.info({ definition: name }, "reconciling composites");
  }

  #end(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const { client, log } = this.#options.context;
    const { controllers } = entry;
    this.#entries.delete(name);
    this.#passKindOn(kindKey(controllers.definition), controllers);
    this.#stopLater(name, controllers.stop());
    forgetKindsOf(client, controllers.definition);
    log.info({ definition: name }, "no longer reconciling composites");
  }

  /** Passes a kind to another definition that defines it. */
  #passKindOn(key: string, from: InstanceControllers): void {
    if (this.#byKind.get(key) !== from) return;
    this.#byKind.delete(key);
    const next = [...this.#entries.values()].find(({ controllers }) => kindKey(controllers.definition) === key);
    if (next === undefined) return;
    this.#byKind.set(key, next.controllers);
    // Until now, changes of composed resources did not reach this definition.
    next.controllers.composites.enqueueAll();
  }

  #updateClaims(name: string, controllers: InstanceControllers, object: LiveObject): void {
    const kind = claimKindOf(controllers.definition);
    const isRunning = controllers.claims !== undefined;
    if (kind === undefined) {
      if (isRunning) this.#stopLater(name, controllers.stopClaims());
    } else if (!isRunning && isOffered(this.#offeringOf(object))) {
      controllers.startClaims(kind);
      this.#options.context.log.info({ definition: name }, "reconciling claims");
    }
  }

  #offeringOf(object: LiveObject): LiveObject | undefined {
    const { offeringOf } = this.#options.reconcilers;
    return offeringOf === undefined ? object : offeringOf(object);
  }

  /** Adding or deleting a publication also changes the model of a definition. */
  #generationOf(object: LiveObject): string {
    const offering = this.#offeringOf(object);
    const published = offering === undefined || offering === object ? "" : `/${offering.metadata.uid}`;
    return `${generationOf(object)}${published}`;
  }

  #stopLater(name: string, stopped: Promise<void>): void {
    const logged = stopped.catch((error: unknown) => {
      this.#options.context.log.warn(
        { definition: name, ...describeFailure(error) },
        "a controller did not stop cleanly",
      );
    });
    this.#stopping.add(logged);
    void logged.finally(() => this.#stopping.delete(logged));
  }
}

/** The values by which XRs select a Composition, and its generation, which represents its spec. */
function selectedBy({ metadata }: LiveObject): string {
  return JSON.stringify([metadata.uid, Number(metadata["generation"]), metadata.labels]);
}

/** The fields of a definition's status that retain the served kind regardless of its conditions (Crossplane v1.13). */
const SERVED_TYPES = { Established: "compositeResourceType", Offered: "compositeResourceClaimType" } as const;

/**
 * Whether instances of a definition may exist. They may while the definition is deleted, and while the server refuses a
 * change of it. A definition that the server always refused has none: existing instances belong to another definition.
 */
function isServed(definition: LiveObject, type: "Established" | "Offered"): boolean {
  if (DEFINITIONS.of(definition).status.controllers[SERVED_TYPES[type]].kind !== undefined) return true;
  return !isBeingDeleted(definition) && isTrue(definition, type);
}

/** Forgets only the versions of a definition: with 300 definitions, other kinds would be looked up 600 times. */
function forgetKindsOf(client: Client, { spec: { group, versions } }: Definition): void {
  for (const { name } of versions) client.forgetKinds(`${group}/${name}`);
}

function isOffered(offering: LiveObject | undefined): boolean {
  return offering !== undefined && isServed(offering, "Offered");
}

function keyOf(object: LiveObject): string {
  return definitionKey(definitionKindOf(object), object.metadata.name);
}

/** A definition whose referenceable version is replaced with the stored one. */
function inStoredVersion(object: LiveObject, definition: Definition): Definition {
  const { spec } = definition;
  const stored = DEFINITIONS.of(object).status.controllers.compositeResourceType.apiVersion ?? "";
  const name = stored.slice(stored.indexOf("/") + 1);
  const [first] = spec.versions;
  const isKnown = spec.versions.some((version) => version.name === name);
  const versions =
    isKnown || first === undefined ? spec.versions : [...spec.versions, { ...first, name, served: true }];
  const marked = versions.map((version) => ({ ...version, referenceable: version.name === name }));
  return { ...definition, spec: { ...spec, versions: marked } };
}

/** Whether the server stores composites in the definition's version, according to the definition's status. */
function storesVersionOf(object: LiveObject, definition: Definition): boolean {
  const stored = DEFINITIONS.of(object).status.controllers.compositeResourceType.apiVersion;
  return stored === undefined || stored === apiVersionOf(compositeKindOf(definition));
}

/** The kind of a definition's composites, in any version. */
function kindKey({ spec }: Definition): string {
  return groupKind(`${spec.group}/`, spec.names.kind);
}

function generationOf({ metadata }: LiveObject): string {
  return `${metadata.uid}/${JSON.stringify(Number(metadata["generation"]))}`;
}
