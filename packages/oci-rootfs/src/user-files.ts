import { ImageError } from "./errors.ts";

/** A process' user as the runtime specification has it. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  readonly additionalGids: readonly number[];
}

/** Contents of the image's `/etc/passwd` and `/etc/group`; undefined where there is no such file. */
export interface UserFiles {
  readonly passwd: string | undefined;
  readonly group: string | undefined;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly groups: number[];
}

const PASSWD_FIELDS = 7;
const GROUP_FIELDS = 4;
const MAX_ID = 2 ** 32 - 1;

/**
 * Who an image's USER is (`user`, `uid`, `user:group`, ...). Digits are an id even if an account has that name; an
 * unknown id has group 0; a user keeps the extra groups when a group is given.
 *
 * @throws ImageError InvalidConfig for a name that does not exist and for files that cannot be read
 */
export function resolveUser(user: string, files: () => UserFiles): ProcessUser {
  if (user === "") return { uid: 0, gid: 0, additionalGids: [] };
  const [name = "", groupName, ...more] = user.split(":");
  if (more.length > 0) throw invalid(`cannot read user ${JSON.stringify(user)}: more than one colon`);
  const { passwd, group } = files();
  // One without the other says nothing reliable: then neither counts, as in the reference runner.
  const accounts = readAccounts(
    passwd === undefined || group === undefined ? { passwd: "", group: "" } : { passwd, group },
  );

  const uid = parseId(name);
  const account = uid === undefined ? accounts.byName.get(name) : accounts.byUid.get(uid);
  if (account === undefined && uid === undefined)
    throw invalid(`the image's user ${JSON.stringify(name)} is not in its /etc/passwd`);
  const base = account ?? { uid: uid ?? 0, gid: 0, groups: [] };
  if (groupName === undefined) return { uid: base.uid, gid: base.gid, additionalGids: base.groups };

  const gid = parseId(groupName) ?? accounts.groups.get(groupName);
  if (gid === undefined) throw invalid(`the image's group ${JSON.stringify(groupName)} is not in its /etc/group`);
  return { uid: base.uid, gid, additionalGids: base.groups };
}

function readAccounts(files: { passwd: string; group: string }): {
  byName: Map<string, Account>;
  byUid: Map<number, Account>;
  groups: Map<string, number>;
} {
  const byName = new Map<string, Account>();
  const byUid = new Map<number, Account>();
  for (const [name = "", , uid, gid] of readRecords(files.passwd, PASSWD_FIELDS, "/etc/passwd")) {
    const account = { uid: requireId(uid, "/etc/passwd"), gid: requireId(gid, "/etc/passwd"), groups: [] };
    byName.set(name, account);
    byUid.set(account.uid, account);
  }
  const groups = new Map<string, number>();
  for (const [name = "", , id, members = ""] of readRecords(files.group, GROUP_FIELDS, "/etc/group")) {
    const gid = requireId(id, "/etc/group");
    groups.set(name, gid);
    for (const member of members.split(",")) {
      const account = byName.get(member);
      // The primary group is not also an extra one.
      if (account !== undefined && account.gid !== gid) account.groups.push(gid);
    }
  }
  return { byName, byUid, groups };
}

/** Records of fields separated by colons, which may be quoted; `#` begins a comment. */
function readRecords(text: string, fields: number, file: string): string[][] {
  const records: string[][] = [];
  for (const [i, raw] of text.split("\n").entries()) {
    const line = raw.replace(/\r$/, "");
    if (line === "" || line.startsWith("#")) continue;
    const record = readRecord(line);
    if (record === undefined) throw invalid(`cannot read ${file} of the image, line ${i + 1}: stray quote`);
    if (record.length !== fields)
      throw invalid(`cannot read ${file} of the image, line ${i + 1}: ${record.length} fields instead of ${fields}`);
    records.push(record);
  }
  return records;
}

function readRecord(line: string): string[] | undefined {
  const fields: string[] = [];
  let rest = line;
  for (;;) {
    rest = rest.trimStart();
    const quoted = /^"((?:[^"]|"")*)"(?=:|$)/.exec(rest);
    if (rest.startsWith('"') && quoted === null) return undefined;
    const length = quoted?.[0].length ?? (rest.includes(":") ? rest.indexOf(":") : rest.length);
    const field = quoted?.[1]?.replaceAll('""', '"') ?? rest.slice(0, length);
    if (quoted === null && field.includes('"')) return undefined;
    fields.push(field);
    if (length === rest.length) return fields;
    rest = rest.slice(length + 1);
  }
}

function requireId(text: string | undefined, file: string): number {
  const id = parseId(text ?? "");
  if (id === undefined) throw invalid(`cannot read ${file} of the image: ${JSON.stringify(text)} is not an id`);
  return id;
}

function parseId(text: string): number | undefined {
  if (!/^[0-9]{1,20}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= MAX_ID ? id : undefined;
}

function invalid(message: string): ImageError {
  return new ImageError("InvalidConfig", message);
}
