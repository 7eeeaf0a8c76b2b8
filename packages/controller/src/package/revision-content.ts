import { createHash } from "node:crypto";
import { someOf } from "@xfn/errors";
import { canonicalJson, type JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { dependencyStatus, type LockedPackage } from "@xfn/package";
import { ApplyCache } from "../objects/apply-cache.ts";
import { type Condition, conditionOf, isTrue } from "../objects/conditions.ts";
import { COMPOSITIONS, DEFINITIONS, FUNCTION_REVISIONS, MANAGED_DEFINITIONS } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { establishObjects, releaseObjects } from "./establish-objects.ts";
import { withManagedDefinitions } from "./managed/managed-definition.ts";
import { DEFINITION_CACHE } from "./managed/observed-state.ts";
import { isActive } from "./package-conditions.ts";
import type { PackageKinds } from "./package-kinds.ts";
import { entryOf, lockedPackages, lockPackage } from "./package-lock.ts";
import type { PackagePort } from "./package-port.ts";
import { objectRefsOf } from "./plan-establish.ts";
import { changedFields, type Part } from "./plan-status.ts";
import type { CheckedPackage } from "./registry/check-package.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { DependencyResolver, type ResolvedDependencies } from "./resolve-dependencies.ts";
import { isOutdated, siblingsOf } from "./revision-owners.ts";
import { isAdmission, withOwnAdmission } from "./webhooks/own-admission.ts";
import { convertsByWebhook, type WebhookServices } from "./webhooks/own-conversion.ts";

const VALID: Condition = { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" };

/** The number of problems that an event names. */
const MAX_NAMED = 5;

/** Checks the packages of revisions of one kind, enters them into the Lock, and establishes their objects. */
export class RevisionContents {
  readonly #port: Pick<PackagePort, "cluster" | "dependencyChanges" | "hosting" | "images">;
  readonly #kinds: PackageKinds;
  readonly #resolver: DependencyResolver;
  readonly #webhooks: WebhookServices | undefined;
  readonly #applies: ApplyCache = new ApplyCache();

  constructor(
    port: Pick<PackagePort, "cluster" | "dependencyChanges" | "hosting" | "images">,
    kinds: PackageKinds,
    webhooks: WebhookServices | undefined,
  ) {
    this.#webhooks = webhooks;
    this.#port = port;
    this.#kinds = kinds;
    this.#resolver = new DependencyResolver(port);
  }

  /** The status of a revision whose content is installed, as far as its status and the caches show. */
  recall(revision: LiveObject): Part | undefined {
    const installed = { conditions: [VALID], fields: {} };
    if (!this.#isKnown(revision)) return undefined;
    if (!isActive(revision)) return objectRefsOf(revision) === undefined ? installed : undefined;
    if (isOutdated(revision, siblingsOf(this.#port.cluster, this.#kinds, revision))) return installed;
    const packages = lockedPackages(this.#port.cluster);
    const entry = this.#entryIn(packages, revision);
    if (entry === undefined || !this.#isEstablished(revision)) return undefined;
    const status = dependencyStatus(packages, entry.source);
    return status.problems.length > 0 ? undefined : { conditions: [VALID], fields: countsOf(status) };
  }

  /**
   * Installs the content of a revision, except the parts that its status already shows as done. An inactive revision
   * gives up control of its objects.
   *
   * @throws {PackageInstallError}
   * @throws {ApiError}
   */
  async install(revision: LiveObject, signal: AbortSignal): Promise<Part> {
    const known = this.recall(revision);
    if (known !== undefined) return known;
    const { cluster } = this.#port;
    if (!isActive(revision)) {
      await releaseObjects(cluster, revision, signal);
      const { conditions, fields } = await this.#checked(revision, signal);
      return { conditions, fields: { ...fields, objectRefs: null } };
    }
    const siblings = siblingsOf(cluster, this.#kinds, revision);
    if (isOutdated(revision, siblings)) return this.#checked(revision, signal);
    const isKnown = this.#isKnown(revision);
    const works = isValid(revision) && this.#arePresent(revision);
    const read = (): Promise<CheckedPackage | undefined> =>
      works ? this.#readAgain(revision, signal) : this.#read(revision, signal);
    let contents: CheckedPackage | undefined;
    let packages = lockedPackages(cluster);
    let entry = this.#entryIn(packages, revision);
    if (entry === undefined) {
      contents = await read();
      if (contents === undefined) return { conditions: [VALID], fields: {} };
      entry = entryOf(this.#kinds, revision, contents.dependencies);
      const names = siblings.map(({ metadata }) => metadata.name);
      packages = await lockPackage(cluster, entry, names, signal);
    }
    const dependencies = await this.#resolver.statusOf(packages, entry.source, signal);
    const counts = countsOf(dependencies);
    if (dependencies.problems.length > 0 && !isValid(revision)) return waiting(dependencies, counts);
    this.#warnOf(revision, dependencies, counts);
    if (isKnown && this.#isEstablished(revision)) return { conditions: [VALID], fields: counts };
    contents ??= await read();
    if (contents === undefined) return { conditions: [VALID], fields: counts };
    const hasWebhooks = contents.objects.some((object) => convertsByWebhook(object) || isAdmission(object));
    const webhooks = hasWebhooks ? await this.#webhooks?.of(revision, signal) : undefined;
    const provider = controllerOf(revision)?.name ?? revision.metadata.name;
    const own = withOwnAdmission(contents.objects, provider, webhooks);
    const isConverted = this.#kinds.packageKind === "Provider" && this.#port.hosting.convertsCrds;
    const objects = isConverted ? withManagedDefinitions(own, contents.capabilities) : own;
    const establishing = { revision, siblings, webhooks };
    const objectRefs = await establishObjects(cluster, this.#applies, establishing, objects, signal);
    const conditions = [VALID, ...signatureConditions(revision, contents)];
    const mark = webhooks?.mark ?? (hasWebhooks ? UNSERVED : undefined);
    const established = { objectRefs, commonMetadataHash: this.#additionsOf(revision, mark) ?? null };
    return { conditions, fields: { ...this.#fieldsOf(revision, contents), ...counts, ...established } };
  }

  /** Checks the package of a revision whose objects belong to a newer revision, or to none. */
  async #checked(revision: LiveObject, signal: AbortSignal): Promise<Part> {
    if (this.#isKnown(revision)) return { conditions: [VALID], fields: {} };
    const contents = await (isValid(revision) ? this.#readAgain(revision, signal) : this.#read(revision, signal));
    if (contents === undefined) return { conditions: [VALID], fields: {} };
    const conditions = [VALID, ...signatureConditions(revision, contents)];
    return { conditions, fields: this.#fieldsOf(revision, contents) };
  }

  #read(revision: LiveObject, signal: AbortSignal): Promise<CheckedPackage> {
    const anyCrossplane = ignoresConstraints(revision);
    const wanted = { image: imageOf(revision), kind: this.#kinds.packageKind, anyCrossplane };
    return this.#port.images.check(revision, wanted, signal);
  }

  /**
   * Reads the package of a valid revision again: for its entry in the Lock, for changed common labels, or from the new
   * location of an ImageConfig. A working revision must not become unhealthy because the registry is down. Its next
   * poll tries again. A missing signature does make it unhealthy.
   */
  async #readAgain(revision: LiveObject, signal: AbortSignal): Promise<CheckedPackage | undefined> {
    try {
      return await this.#read(revision, signal);
    } catch (error) {
      const isUnavailable = error instanceof PackageInstallError && error.code === "Unavailable";
      if (signal.aborted || !isUnavailable) throw error;
      const message = `cannot read the installed package again, and tries later: ${error.message}`;
      this.#port.cluster.events.record(revision, { type: "Warning", reason: "UnpackingPackage", message });
      return undefined;
    }
  }

  #fieldsOf(revision: LiveObject, { capabilities, verifiedBy }: CheckedPackage): JsonObject {
    const { image, applied, runtime } = this.#port.images.settings(imageOf(revision));
    const configs = [...(applied ?? [])];
    if (verifiedBy !== undefined) configs.push({ name: verifiedBy, reason: "VerifyImage" });
    const hasRuntime = this.#kinds.packageKind !== "Configuration" && this.#port.hosting.hasRuntimes;
    if (runtime !== undefined && hasRuntime) configs.push({ name: runtime.config, reason: "ConfigureRuntime" });
    const appliedImageConfigRefs = configs.length === 0 ? null : configs;
    return { resolvedImage: image, appliedImageConfigRefs, capabilities: [...capabilities] };
  }

  #isKnown(revision: LiveObject): boolean {
    const { image } = this.#port.images.settings(imageOf(revision));
    return FUNCTION_REVISIONS.of(revision).status.resolvedImage === image && isTrue(revision, "RevisionHealthy");
  }

  /**
   * Whether the objects of a revision exist, with the labels of its package and the current location of its webhooks.
   */
  #isEstablished(revision: LiveObject): boolean {
    const marked = FUNCTION_REVISIONS.of(revision).status.commonMetadataHash;
    const before = marked?.split(WEBHOOK_MARK)[1];
    const now = before ? (this.#webhooks?.markOf(revision) ?? before) : undefined;
    const isMarked = marked === this.#additionsOf(revision, now);
    return this.#arePresent(revision) && (isMarked || objectRefsOf(revision)?.length === 0);
  }

  /**
   * Identifies the additions of the controller to the objects of a revision; undefined if there are none. Versions
   * without all kinds of webhooks wrote another separator or none. So each Provider has that part, even if it is empty.
   */
  #additionsOf(revision: LiveObject, webhooks: string | undefined): string | undefined {
    const hash = commonMetadataHash(revision);
    return this.#kinds.packageKind === "Provider" ? `${hash ?? ""}${WEBHOOK_MARK}${webhooks ?? ""}` : hash;
  }

  /** All definitions and Compositions are watched. The controller does not detect changes of CRDs. */
  #arePresent(revision: LiveObject): boolean {
    return (
      objectRefsOf(revision)?.every((reference) => {
        const watched = [DEFINITIONS, COMPOSITIONS, MANAGED_DEFINITIONS].find(({ kind }) => kind === reference.kind);
        const options = watched === MANAGED_DEFINITIONS ? DEFINITION_CACHE : {};
        const cache = watched && this.#port.cluster.informers.peek(watched, options);
        if (cache === undefined) return true;
        const object = cache.get(reference.name ?? "");
        return object !== undefined && !isBeingDeleted(object) && isControlledBy(object, revision);
      }) ?? false
    );
  }

  #entryIn(packages: readonly LockedPackage[], revision: LiveObject): LockedPackage | undefined {
    const { packageKind } = this.#kinds;
    return packages.find(({ kind, name }) => kind === packageKind && name === revision.metadata.name);
  }

  /** A dependency that is removed later does not affect an installed revision. */
  #warnOf(revision: LiveObject, { problems }: ResolvedDependencies, counts: JsonObject): void {
    if (problems.length === 0 || Object.keys(changedFields(revision, counts)).length === 0) return;
    const message = someOf([...problems], MAX_NAMED);
    this.#port.cluster.events.record(revision, { type: "Warning", reason: "ResolveDependencies", message });
  }
}

/**
 * Crossplane's conditions for signatures. A revision that needs no signature has no condition, unless it needed one
 * before.
 */
function signatureConditions(revision: LiveObject, { verifiedBy }: CheckedPackage): Condition[] {
  const type = "Verified";
  if (verifiedBy !== undefined) {
    const message = `the signature that the ImageConfig ${verifiedBy} requires is valid`;
    return [{ type, status: "True", reason: "SignatureVerificationSucceeded", message }];
  }
  const known = conditionOf(revision, type);
  return known === undefined ? [] : [{ type, status: "True", reason: "SignatureVerificationSkipped" }];
}

/** Whether the package of a revision was read from any location and is valid. */
function isValid(revision: LiveObject): boolean {
  const { resolvedImage } = FUNCTION_REVISIONS.of(revision).status;
  return isTrue(revision, "RevisionHealthy") && resolvedImage?.split("@")[1] === imageOf(revision).split("@")[1];
}

/** The package of a revision, with its digest. */
export function imageOf(revision: LiveObject): string {
  return FUNCTION_REVISIONS.of(revision).spec.image ?? "";
}

/** Whether a revision accepts a package for another version of Crossplane. */
export function ignoresConstraints(revision: LiveObject): boolean {
  return FUNCTION_REVISIONS.of(revision).spec.ignoreCrossplaneConstraints === true;
}

/** Identifies the labels and annotations that a package adds to its objects; undefined if there are none. */
function commonMetadataHash(revision: LiveObject): string | undefined {
  const { commonLabels, commonAnnotations } = FUNCTION_REVISIONS.of(revision).spec;
  const added = [commonLabels, commonAnnotations];
  if (added.every((texts) => Object.keys(texts).length === 0)) return undefined;
  return createHash("sha256").update(canonicalJson(added)).digest("hex").slice(0, 16);
}

/** Separates the hash of common metadata from the mark of the webhook Service. */
const WEBHOOK_MARK = "~";

/** The mark of admission webhooks that no runtime serves. */
const UNSERVED = "unserved";

function countsOf({ found, installed, invalid }: Omit<ResolvedDependencies, "problems">): JsonObject {
  const count = (number: number): number | null => (found === 0 ? null : number);
  return {
    foundDependencies: count(found),
    installedDependencies: count(installed),
    invalidDependencies: count(invalid),
  };
}

/** The Lock reports the installation of a dependency, so no retry is needed. */
function waiting({ problems }: ResolvedDependencies, counts: JsonObject): Part {
  const message = `cannot resolve dependencies: ${problems.join("; ")}`;
  const condition: Condition = {
    type: "RevisionHealthy",
    status: "False",
    reason: "UnhealthyPackageRevision",
    message,
  };
  return { conditions: [condition], fields: counts };
}
