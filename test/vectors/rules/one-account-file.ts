import type { JsonObject } from "@xfn/json";
import { child, list, type Rule } from "../rule.ts";
import type { Expected, VectorCase } from "../vector-file.ts";

const PASSWD = "/etc/passwd";
const GROUP = "/etc/group";
const DEFAULT_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Images with one of the two files of accounts. */
export const oneAccountFile: Rule = {
  name: "one-file-of-accounts-is-used",
  file: "image-spec",
  reason:
    "An image with only one of /etc/passwd and /etc/group has the accounts of that file. The reference uses neither.",
  applies: (vector) => {
    const files = child(vector, "files");
    return (files[PASSWD] === undefined) !== (files[GROUP] === undefined) && userOf(vector) !== "";
  },
  outcome: (vector, recorded): Expected => {
    const [user = "", group = ""] = userOf(vector).split(":");
    const account = entry(vector, PASSWD, user);
    const uid = id(user, account?.[2]);
    const gid = group === "" ? id("", account?.[3] ?? "0") : id(group, entry(vector, GROUP, group)?.[2]);
    if (uid === undefined || gid === undefined) return { error: "there is no such user or group" };
    const before = "output" in recorded ? (recorded.output as JsonObject) : specOf(vector);
    return { output: { ...before, process: { ...child(before, "process"), user: { uid, gid } } } };
  },
};

function userOf(vector: VectorCase): string {
  return String(child(child(vector, "imageConfig"), "config")["User"] ?? "");
}

/** The fields of an account by its name or number. */
function entry(vector: VectorCase, file: string, name: string): string[] | undefined {
  const lines = String(child(vector, "files")[file] ?? "").split("\n");
  const accounts = lines.map((line) => line.split(":"));
  return accounts.find((fields) => fields[0] === name || (/^\d+$/.test(name) && fields[2] === name));
}

function id(text: string, found: string | undefined): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  return found === undefined ? undefined : Number(found);
}

/** The spec that the reference would write if it found the user. */
function specOf(vector: VectorCase): JsonObject {
  const config = child(child(vector, "imageConfig"), "config");
  const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  return {
    hostname: "xfn",
    process: {
      args: [...texts(config["Entrypoint"]), ...texts(config["Cmd"])],
      env: [DEFAULT_PATH, ...texts(config["Env"])],
      cwd: config["WorkingDir"] ?? "/",
    },
    root: { path: "rootfs" },
    mounts: list(undefined),
    linux: { resources: {} },
  };
}
