// The quota that applies to a client: the rule of kadmin_nb/resolution/rules.py, for the form of how-quotas-resolve.md.
// Texts are only ever set as textContent: what is typed is never markup.

// tables: made by docs/reference/generate.py (make reference)
const LEVELS = [
  {
    "name": "CLIENT_OF_USER",
    "user": "name",
    "client_id": "name"
  },
  {
    "name": "DEFAULT_CLIENT_OF_USER",
    "user": "name",
    "client_id": "default"
  },
  {
    "name": "USER",
    "user": "name",
    "client_id": null
  },
  {
    "name": "CLIENT_OF_DEFAULT_USER",
    "user": "default",
    "client_id": "name"
  },
  {
    "name": "DEFAULT_CLIENT_OF_DEFAULT_USER",
    "user": "default",
    "client_id": "default"
  },
  {
    "name": "DEFAULT_USER",
    "user": "default",
    "client_id": null
  },
  {
    "name": "CLIENT",
    "user": null,
    "client_id": "name"
  },
  {
    "name": "DEFAULT_CLIENT",
    "user": null,
    "client_id": "default"
  }
];
const SHARED = {
  "CLIENT_OF_USER": "shared by the connections of this user and client-id",
  "DEFAULT_CLIENT_OF_USER": "shared with nobody (one per client-id)",
  "USER": "shared by its client-ids that have no quota of their own",
  "CLIENT_OF_DEFAULT_USER": "shared with nobody (one per user)",
  "DEFAULT_CLIENT_OF_DEFAULT_USER": "shared with nobody (one per user and client-id)",
  "DEFAULT_USER": "each user gets this once, for all its client-ids",
  "CLIENT": "shared by all users that send this client-id",
  "DEFAULT_CLIENT": "each client-id gets this once, for all users that send it"
};
const KEYS = [
  "producer_byte_rate",
  "consumer_byte_rate",
  "request_percentage",
  "controller_mutation_rate"
];
const UNITS = {
  "B": 1,
  "kB": 1000,
  "MB": 1000000,
  "GB": 1000000000,
  "KiB": 1024,
  "MiB": 1048576,
  "GiB": 1073741824
};
// end of tables

// ---- the rule

// A quota is {user, client_id, key, value}. A part is a name in a list of one, DEFAULT, or null where there is none.
const DEFAULT = "default";

function storedAt(quotas, level, user, clientId, key) {
  const fits = (part, kind, name) =>
    kind === "name" ? Array.isArray(part) && part[0] === name : part === (kind ? DEFAULT : null);
  return quotas.find((quota) =>
    quota.key === key && fits(quota.user, level.user, user) && fits(quota.client_id, level.client_id, clientId));
}

// An empty user is unlimited where the default user has a quota, unless one of its client-ids has one that fits.
function isSilenced(quotas, clientId, key) {
  const stored = (level) => storedAt(quotas, level, "", clientId, key);
  const ofDefaultUser = LEVELS.filter((level) => level.user === "default");
  const withClient = ofDefaultUser.filter((level) => level.client_id && (clientId || level.client_id === "default"));
  return !withClient.some(stored) && ofDefaultUser.filter((level) => !level.client_id).some(stored);
}

// The quotas that fit a client, the one that applies first; each with its level, and who shares the limit.
function resolve(quotas, user, clientId, key) {
  if (!user && isSilenced(quotas, clientId, key)) return [];
  return LEVELS.filter((level) => (user || !level.user) && (clientId || !level.client_id))
    .map((level) => ({ level, quota: storedAt(quotas, level, user, clientId, key) }))
    .filter(({ quota }) => quota)
    .map(({ level, quota }) => ({
      level: level.name, value: quota.value, shared: SHARED[level.name],
      bucket: [level.user ? user : "", level.client_id ? clientId : ""],
    }));
}

// ---- the words of a line: user=alice client-id=<default> producer_byte_rate=5MB/s

function readLine(line) {
  const quota = { user: null, client_id: null };
  const values = {};
  for (const word of line.trim().split(/\s+/)) {
    const [, name, sign, text] = /^([^=]+)(==?)(.*)$/.exec(word) || [];
    if (name === "user" || name === "client-id") {
      quota[name.replace("-", "_")] = sign === "=" && text === "<default>" ? DEFAULT : [text];
    } else if (KEYS.includes(name)) {
      values[name] = readValue(name, text);
    } else {
      throw new Error(`unknown word ${word}`);
    }
  }
  if (!quota.user && !quota.client_id) throw new Error("name a user, a client-id, or both");
  return Object.entries(values).map(([key, value]) => ({ ...quota, key, value, text: line.trim() }));
}

function readValue(key, text) {
  const [, number, unit] = /^([0-9._]+)([A-Za-z]*|%)(?:\/s)?$/.exec(text) || [];
  const factor = unit && unit !== "%" ? UNITS[unit] : 1;
  const value = Number((number || "").replaceAll("_", "")) * factor;
  if (!(value > 0)) throw new Error(`${key}=${text} is not a number with a unit, for example 5MB/s or 50%`);
  return value;
}

// ---- the form

function show(form, place) {
  const cell = (row, text, name = "td") => (row.appendChild(document.createElement(name)).textContent = text);
  place.replaceChildren();
  let quotas;
  try {
    const lines = form.quotas.value.split("\n").filter((line) => line.trim() && !line.trim().startsWith("#"));
    quotas = lines.flatMap(readLine);
  } catch (error) {
    place.textContent = error.message;
    return;
  }
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const title of ["key", "limit on each broker", "set by", "who shares it", "overridden"]) cell(head, title, "th");
  const body = table.createTBody();
  for (const key of KEYS) {
    const [first, ...lost] = resolve(quotas, form.user.value, form.client.value, key);
    const words = (found) => `${found.level.toLowerCase().replaceAll("_", " ")} (${asText(key, found.value)})`;
    const row = body.insertRow();
    cell(row, key);
    cell(row, first ? asText(key, first.value) : "unlimited");
    cell(row, first ? first.level.toLowerCase().replaceAll("_", " ") : "");
    cell(row, first ? first.shared : "");
    cell(row, lost.map(words).join(", "));
  }
  place.append(table);
}

function asText(key, value) {
  if (!key.endsWith("byte_rate")) return `${value.toLocaleString("en")}${key === "request_percentage" ? " %" : "/s"}`;
  const unit = ["GB", "MB", "kB"].find((name) => value >= UNITS[name]);
  return `${(unit ? value / UNITS[unit] : value).toLocaleString("en")} ${unit || "B"}/s`;
}

if (typeof document !== "undefined") {
  const form = document.getElementById("resolver");
  const place = document.getElementById("resolved");
  form.addEventListener("input", () => show(form, place));
  form.addEventListener("submit", (event) => event.preventDefault());
  show(form, place);
}
