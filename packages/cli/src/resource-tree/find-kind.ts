import { type JsonObject, type JsonValue, listAt, objectsAt, textOrEmpty, valueAt } from "@xfn/json";
import { type Client, isApiError } from "@xfn/kubernetes";
import { CliError } from "../errors/cli-error.ts";
import type { Limit } from "./limit.ts";

/** A kind that the server has. */
export interface FoundKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** The plural in the paths of requests. */
  readonly plural: string;
  /** The same kind of other groups, as users write it: `PLURAL.GROUP`. */
  readonly others: readonly string[];
}

type KindOfGroup = Omit<FoundKind, "others">;

/**
 * Finds a kind by what users write for kubectl: kind, plural, singular or short name, with `.group` or
 * `.version.group` behind it. If several groups have the kind, the first one counts, as for kubectl.
 *
 * @throws CliError `Failed` if the server has no such kind
 */
export async function findKind(client: Client, type: string, limit: Limit, signal: AbortSignal): Promise<FoundKind> {
  const [name = "", ...rest] = type.split(".");
  const suffix = rest.join(".");
  const groups = (await groupsOf(client, signal)).filter(({ group, versions }) => {
    return suffix === "" || group === suffix || versions.some((version) => `${version}.${group}` === suffix);
  });
  const wanted = (group: Group): readonly string[] => {
    const exact = group.versions.filter((version) => `${version}.${group.group}` === suffix);
    return exact.length > 0 ? exact : group.versions;
  };
  // Almost always, the preferred version has the kind.
  for (const versionsOf of [(group: Group) => wanted(group).slice(0, 1), (group: Group) => wanted(group).slice(1)]) {
    const versions = groups.flatMap((group) => versionsOf(group).map((version) => ({ group: group.group, version })));
    const found = await Promise.all(versions.map((one) => limit(() => kindIn(client, one, name, signal))));
    const [first, ...others] = found.filter((one) => one !== undefined);
    if (first !== undefined) return { ...first, others: [...new Set(others.map(written))] };
  }
  throw new CliError("Failed", `the API server has no kind ${JSON.stringify(type)}`, {
    details: ["Write it as for kubectl, such as xdatabase, xdatabases.example.org or XDatabase.v1.example.org"],
  });
}

function written({ apiVersion, plural }: KindOfGroup): string {
  return apiVersion.includes("/") ? `${plural}.${apiVersion.split("/")[0]}` : plural;
}

/** The names of all kinds, as users write them: the plural, with its group. For completion. */
export async function allKinds(client: Client, limit: Limit, signal: AbortSignal): Promise<readonly string[]> {
  const groups = await groupsOf(client, signal);
  const found = await Promise.all(
    groups.map(({ group, versions: [version = ""] }) =>
      limit(async () => {
        const resources = await resourcesOf(client, { group, version }, signal);
        const names = resources
          .map((one) => textOrEmpty(one, "name"))
          .filter((name) => name !== "" && !name.includes("/"));
        return names.map((name) => (group === "" ? name : `${name}.${group}`));
      }),
    ),
  );
  return found.flat();
}

/** The names of the objects of a kind. For completion. */
export async function listNames(
  client: Client,
  { apiVersion, kind, namespaced, plural }: FoundKind,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  const { items } = await client.list(
    { group, version, kind, plural, namespaced },
    { signal, ...(namespaced && { namespace }) },
  );
  return items.map(({ metadata }) => metadata.name);
}

interface Group {
  readonly group: string;
  /** The preferred one first. */
  readonly versions: readonly string[];
}

async function groupsOf(client: Client, signal: AbortSignal): Promise<readonly Group[]> {
  const groups = listAt(await client.raw("GET", "/apis", { signal }), "groups").map((group): Group => {
    const preferred = textOrEmpty(group, "preferredVersion", "version");
    const names = listAt(group, "versions").map((version) => textOrEmpty(version, "version"));
    return { group: textOrEmpty(group, "name"), versions: [...new Set([preferred, ...names])] };
  });
  return [{ group: "", versions: ["v1"] }, ...groups];
}

async function kindIn(
  client: Client,
  groupVersion: { readonly group: string; readonly version: string },
  name: string,
  signal: AbortSignal,
): Promise<KindOfGroup | undefined> {
  const { group, version } = groupVersion;
  const lower = name.toLowerCase();
  const found = (await resourcesOf(client, groupVersion, signal)).find((one) => {
    if (textOrEmpty(one, "name").includes("/")) return false;
    const names = [textOrEmpty(one, "kind"), textOrEmpty(one, "name"), textOrEmpty(one, "singularName")];
    const given = [...names, ...listAt(one, "shortNames")];
    return given.some((text) => typeof text === "string" && text.toLowerCase() === lower);
  });
  if (found === undefined) return undefined;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const namespaced = valueAt(found, "namespaced") === true;
  return { apiVersion, kind: textOrEmpty(found, "kind"), namespaced, plural: textOrEmpty(found, "name") };
}

/** The resources of a version of a group; none if its API does not answer. */
async function resourcesOf(
  client: Client,
  { group, version }: { readonly group: string; readonly version: string },
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  let answer: JsonValue;
  try {
    answer = await client.raw("GET", group === "" ? `/api/${version}` : `/apis/${group}/${version}`, { signal });
  } catch (error) {
    // An aggregated API whose server is down must not hide the others.
    if (isApiError(error) && !signal.aborted) return [];
    throw error;
  }
  return objectsAt(answer, "resources");
}
