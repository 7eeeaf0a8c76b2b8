import { isObject, type JsonValue } from "@xfn/json";
import { type ConnectedClient, isApiError, type ResourceKind } from "@xfn/kubernetes";
import { NotImitated } from "./not-imitated.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const builtIn = (apiVersion: string, namespaced: boolean, ...kinds: readonly string[]): ResourceKind[] =>
  kinds.map((kind) => {
    const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
    return { group: group ?? "", version: version ?? "", kind, plural: `${kind.toLowerCase()}s`, namespaced };
  });

const BUILT_IN: readonly ResourceKind[] = [
  ...builtIn("v1", true, "ConfigMap", "Secret", "Service", "ServiceAccount", "Event"),
  ...builtIn("v1", false, "Namespace"),
  ...builtIn("apps/v1", true, "Deployment"),
  ...builtIn("rbac.authorization.k8s.io/v1", true, "Role", "RoleBinding"),
  ...builtIn("rbac.authorization.k8s.io/v1", false, "ClusterRole", "ClusterRoleBinding"),
  ...builtIn("apiextensions.k8s.io/v1", false, "CustomResourceDefinition"),
];

interface NamedKind {
  readonly kind: ResourceKind;
  readonly names: readonly string[];
}

/** The names of kinds on kubectl's command line: of frequent built-in kinds, and of CRDs. */
export class ResourceTypes {
  readonly #client: ConnectedClient;
  readonly #builtIn: readonly NamedKind[] = BUILT_IN.map((kind) => ({
    kind,
    names: namesOf(kind, kind.kind.toLowerCase(), SHORT[kind.plural] ?? []),
  }));
  #custom: readonly NamedKind[] = [];

  constructor(client: ConnectedClient) {
    this.#client = client;
  }

  /** @throws {NotImitated} no such kind, or several of them */
  async named(name: string): Promise<ResourceKind> {
    const lower = name.toLowerCase();
    const own = this.#builtIn.find(({ names }) => names.includes(lower));
    if (own !== undefined) return own.kind;
    let found = this.#find(lower);
    if (found.length === 0) {
      await this.#read();
      found = this.#find(lower);
    }
    const [only, ...others] = found;
    if (only === undefined || others.length > 0) throw new NotImitated(`the type ${name}`);
    return only.kind;
  }

  /** Forgets the CRDs, which may have changed. */
  forget(): void {
    this.#custom = [];
    this.#client.forgetKinds();
  }

  #find(name: string): readonly NamedKind[] {
    return this.#custom.filter(({ names }) => names.includes(name));
  }

  async #read(): Promise<void> {
    let list: JsonValue;
    try {
      list = await this.#client.raw("GET", CRDS);
    } catch (error) {
      if (isApiError(error)) throw new NotImitated("the CRDs cannot be read", { cause: error });
      throw error;
    }
    const items = isObject(list) && Array.isArray(list["items"]) ? list["items"] : [];
    this.#custom = items.flatMap(namedKindOf);
  }
}

function namedKindOf(crd: JsonValue): NamedKind[] {
  const spec = isObject(crd) && isObject(crd["spec"]) ? crd["spec"] : {};
  const { group, scope, names, versions } = spec;
  if (typeof group !== "string" || !isObject(names) || !Array.isArray(versions)) return [];
  const served = versions.filter(isObject).filter((version) => version["served"] === true);
  const [version] = served.map((one) => String(one["name"])).toSorted(byPriority);
  if (version === undefined) return [];
  const { plural, singular, kind: name, shortNames } = names;
  if (typeof plural !== "string" || typeof singular !== "string" || typeof name !== "string") return [];
  const kind = { group, version, kind: name, plural, namespaced: scope === "Namespaced" };
  return [{ kind, names: namesOf(kind, singular, Array.isArray(shortNames) ? shortNames.map(String) : []) }];
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** Sorts the version that the server prefers first (Kubernetes, "Versions in CustomResourceDefinitions"). */
function byPriority(a: string, b: string): number {
  const ranks = [a, b].map((version) => {
    const [, major = 0, stage, minor = 0] = VERSION.exec(version) ?? [];
    return [stage === undefined ? 2 : stage === "beta" ? 1 : 0, Number(major), Number(minor)];
  });
  const [first = [], second = []] = ranks;
  return first.map((rank, index) => (second[index] ?? 0) - rank).find((difference) => difference !== 0) ?? 0;
}

const SHORT: Readonly<Record<string, readonly string[]>> = {
  configmaps: ["cm"],
  customresourcedefinitions: ["crd", "crds"],
  namespaces: ["ns"],
  serviceaccounts: ["sa"],
};

function namesOf({ plural, group }: ResourceKind, singular: string, short: readonly string[]): string[] {
  const names = [plural, singular];
  return [...names, ...(group === "" ? [] : names.map((name) => `${name}.${group}`)), ...short];
}
