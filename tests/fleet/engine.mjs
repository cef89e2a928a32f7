// SPDX-License-Identifier: GPL-2.0-or-later
// An SQL engine within this process, asked by lines of JSON: node engine.mjs duckdb|clickhouse PACKAGES DATABASE
//
// A line {"sql": "..."} is answered by {"rows": [...], "seconds": n} or {"error": "..."}. Both engines are npm packages in
// the directory PACKAGES. A number that a double cannot hold stays a string with all its digits.
import { createRequire } from "node:module";
import readline from "node:readline";

const [kind, packages, path] = process.argv.slice(2);
const load = createRequire(packages + "/");

async function openDuckdb() {
        const { DuckDBInstance, version } = load("@duckdb/node-api");
        const connection = await (await DuckDBInstance.create(path)).connect();
        return {
                version: "DuckDB " + version(),
                ask: async sql => (await connection.runAndReadAll(sql)).getRowObjectsJson(),
        };
}

async function openClickhouse() {
        const { Session } = load("chdb");
        const session = new Session(path);
        // As a server reads and writes them: exact, and with a name for each column.
        session.query("SET output_format_json_quote_64bit_integers = 1, output_format_json_quote_decimals = 1");
        const ask = sql => session.query(sql, "JSONEachRow").split("\n").filter(Boolean).map(line => JSON.parse(line));
        return { version: "ClickHouse " + ask("SELECT version() AS v")[0].v, ask: async sql => ask(sql) };
}

const engine = await (kind === "duckdb" ? openDuckdb() : openClickhouse());
const say = answer => process.stdout.write(JSON.stringify(answer) + "\n");
say({ rows: [{ version: engine.version }], seconds: 0 });
for await (const line of readline.createInterface({ input: process.stdin })) {
        const begin = performance.now();
        try {
                const rows = await engine.ask(JSON.parse(line).sql);
                say({ rows, seconds: (performance.now() - begin) / 1000 });
        } catch (error) {
                say({ error: String(error.message) });
        }
}
process.exit(0);
