/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "order/order.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/name.h"
#include "config.h"
#include "metric/record-place.h"
#include "view/view-part.h"

/* In front of the struct of the method. */
typedef struct OrderHead {
        char version[48]; /* of this program */
        uint32_t method;
        uint32_t more;
} OrderHead;

static const struct {
        JobKind kind;
        size_t n_bytes;
} rows[_ORDER_METHOD_MAX] = {
#define ORDER_ROW(id, kind_, member) \
        [ORDER_##id] = { .kind = JOB_##kind_, .n_bytes = sizeof(((Order *) NULL)->member) },
        ORDERS(ORDER_ROW)
#undef ORDER_ROW
};

#define VERSION "ctprof order " CTPROF_VERSION
_Static_assert(sizeof(VERSION) <= sizeof(((OrderHead *) NULL)->version),
               "a shortened version may be that of another program");

/* That kind of job also puts files together, which is no analysis. */
static bool is_analysis(OrderMethod method) {
        return rows[method].kind == JOB_ANALYSIS && method != ORDER_JOIN;
}

Order *order_new(OrderMethod method) {
        Order *order = calloc(1, sizeof(*order));

        if (!order)
                return NULL;
        order->method = method;
        order->kind = rows[method].kind;
        if (is_analysis(method))
                view_init(&order->analysis.view);
        return order;
}

int order_pack(const Order *order, Buffer *buffer) {
        OrderHead head = { .version = VERSION, .method = order->method, .more = order->more };
        size_t n = rows[order->method].n_bytes;

        /* Only those texts of an analysis are sent that there are. */
        if (is_analysis(order->method))
                n -= ORDER_TEXTS_BYTES - order->analysis.n_texts;
        buffer_append(buffer, &head, sizeof(head));
        return buffer_append(buffer, &order->capture, n);
}

int order_unpack(Span body, JobKind kind, size_t n_fds, Order **ret) {
        _cleanup_(freep) Order *order = NULL;
        size_t n = body.n - sizeof(OrderHead), n_expected;
        const AnalysisOrder *analysis;
        unsigned n_subjects;
        OrderHead head;

        if (body.n < sizeof(head))
                return -EBADMSG;
        memcpy(&head, body.bytes, sizeof(head));
        if (strncmp(head.version, VERSION, sizeof(head.version)) != 0 ||
            head.method >= _ORDER_METHOD_MAX || rows[head.method].kind != kind ||
            n > rows[head.method].n_bytes || n_fds > LIMIT_FDS_PER_ORDER)
                return -EBADMSG;
        order = order_new((OrderMethod) head.method);
        if (!order)
                return -ENOMEM;
        order->more = head.more;
        memcpy(&order->capture, body.bytes + sizeof(head), n);
        analysis = &order->analysis;
        if (is_analysis(order->method) && analysis->n_texts > ORDER_TEXTS_BYTES)
                return -EBADMSG;
        n_expected = rows[order->method].n_bytes;
        if (is_analysis(order->method))
                n_expected -= ORDER_TEXTS_BYTES - analysis->n_texts;
        if (n != n_expected)
                return -EBADMSG;
        if (is_analysis(order->method)) {
                /* A member that says where something else lies has to stay within its bounds. */
                n_subjects = analysis->n[0] + analysis->n[1];
                if (analysis->n[0] > LIMIT_SNAPSHOTS_PER_CALL ||
                    analysis->n[1] > LIMIT_SNAPSHOTS_PER_CALL ||
                    n_subjects > LIMIT_SNAPSHOTS_PER_CALL ||
                    (analysis->n_texts > 0 && analysis->texts[analysis->n_texts - 1] != '\0'))
                        return -EBADMSG;
                for (unsigned i = 0; i < n_subjects; i++)
                        if (analysis->subjects[i].from.label > analysis->n_texts ||
                            analysis->subjects[i].to.label > analysis->n_texts)
                                return -EBADMSG;
        }
        *ret = TAKE_PTR(order);
        return 0;
}

const char *order_label(const AnalysisOrder *order, const OrderFile *file) {
        return file->label > 0 ? order->texts + file->label - 1 : NULL;
}

bool order_set_label(AnalysisOrder *order, OrderFile *file, const char *label) {
        size_t n = label ? strlen(label) + 1 : 0;

        if (n == 0)
                return true;
        if (n > ORDER_TEXTS_BYTES - order->n_texts)
                return false;
        memcpy(order->texts + order->n_texts, label, n);
        file->label = order->n_texts + 1;
        order->n_texts += (uint32_t) n;
        return true;
}

/* calls of clients */

/* The parameters of all of them; a call has those of its rows. */
typedef struct AnalysisFields {
        json_object *sides[2]; /* one reference, or an array of them */
        json_object *view;
        double alpha;
        OptionalU64 limit;
        json_object *places;
        OptionalBool files;
        bool stacks, wakers, course, histogram, lines;
        const char *format;
        OptionalU64 output;
} AnalysisFields;

#define DEFAULT_ALPHA 0.05

static const char *const places[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;

#define SIDE(key, type, i)                                                            \
        {                                                                             \
                key, PARAMETER_##type, true,                                          \
                        offsetof(AnalysisFields, sides) + (i) * sizeof(json_object *) \
        }
#define VIEW \
        { "view", PARAMETER_OBJECT, false, offsetof(AnalysisFields, view) }

static const struct Call {
        const char *name;
        OrderMethod method;
        bool streams;      /* the answer has no bound: ExpectedMore without "more" */
        bool of_intervals; /* a reference may be of one */
        unsigned n_sides, n_parameters;
        Parameter parameters[8]; /* the sides come first */
} calls[] = {
        { PROFILER_INTERFACE ".Show",
          ORDER_SHOW,
          true,
          true,
          1,
          2,
          { SIDE("snapshot", OBJECT, 0), VIEW } },
        { PROFILER_INTERFACE ".Compare",
          ORDER_COMPARE,
          true,
          true,
          2,
          3,
          { SIDE("before", OBJECT, 0), SIDE("after", OBJECT, 1), VIEW } },
        { PROFILER_INTERFACE ".CompareSets",
          ORDER_COMPARE_SETS,
          true,
          true,
          2,
          7,
          { SIDE("before", OBJECTS, 0),
            SIDE("after", OBJECTS, 1),
            VIEW,
            { "alpha", PARAMETER_REAL, false, offsetof(AnalysisFields, alpha) },
            { "stacks", PARAMETER_BOOL, false, offsetof(AnalysisFields, stacks) },
            { "limit", PARAMETER_OPTIONAL_U64, false, offsetof(AnalysisFields, limit) },
            { "places", PARAMETER_TEXTS, false, offsetof(AnalysisFields, places) } } },
        { PROFILER_INTERFACE ".Stacks",
          ORDER_STACKS,
          true,
          false,
          1,
          8,
          { SIDE("recording", OBJECT, 0),
            { "limit", PARAMETER_OPTIONAL_U64, false, offsetof(AnalysisFields, limit) },
            { "wakers", PARAMETER_BOOL, false, offsetof(AnalysisFields, wakers) },
            { "course", PARAMETER_BOOL, false, offsetof(AnalysisFields, course) },
            { "histogram", PARAMETER_BOOL, false, offsetof(AnalysisFields, histogram) },
            { "places", PARAMETER_TEXTS, false, offsetof(AnalysisFields, places) },
            { "files", PARAMETER_OPTIONAL_BOOL, false, offsetof(AnalysisFields, files) },
            { "lines", PARAMETER_BOOL, false, offsetof(AnalysisFields, lines) } } },
        { PROFILER_INTERFACE ".Info",
          ORDER_INFO,
          false,
          false,
          1,
          1,
          { SIDE("snapshot", OBJECT, 0) } },
        /* A client calls this that has started the job itself: the daemon serves no such call. */
        { "io.ctprof.Job.Convert",
          ORDER_CONVERT,
          false,
          false,
          1,
          3,
          { SIDE("snapshot", OBJECT, 0),
            { "format", PARAMETER_TEXT, true, offsetof(AnalysisFields, format) },
            { "output", PARAMETER_OPTIONAL_U64, true, offsetof(AnalysisFields, output) } } },
        { PROFILER_INTERFACE ".Verify",
          ORDER_VERIFY,
          false,
          false,
          1,
          1,
          { SIDE("snapshots", OBJECTS, 0) } },
};

OrderMethod order_method_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                if (strcmp(calls[i].name, name) == 0)
                        return calls[i].method;
        return _ORDER_METHOD_MAX;
}

static int refuse_parameter(const OrderDoor *door, const char *key, const char *reason) {
        return door->refuse(door->userdata, WIRE_ERROR_INVALID_PARAMETER,
                            &(WireErrorDetail){ .subject = span_of(key), .reason = reason });
}

/* The members of SnapshotRef, and last the one that only a SubjectRef has. */
static const Parameter reference_table[] = {
        { "name", PARAMETER_TEXT, false, offsetof(OrderReference, name) },
        { "fileDescriptor", PARAMETER_OPTIONAL_U64, false, offsetof(OrderReference, index) },
        { "label", PARAMETER_TEXT, false, offsetof(OrderReference, label) },
        { "to", PARAMETER_OBJECT, false, offsetof(OrderReference, to) },
};

int order_decode_file(const OrderDoor *door, const char *key, json_object *object,
                      AnalysisOrder *order, OrderFile *ret, json_object **ret_to) {
        size_t n_table = ELEMENTSOF(reference_table) - (ret_to ? 0 : 1);
        OrderReference reference = { .name = NULL };
        const char *culprit;
        int r;

        r = parameters_decode(object, reference_table, n_table, &reference, &culprit);
        if (r == PARAMETERS_E_INVALID)
                return refuse_parameter(door, culprit, NULL);
        if (r != 0)
                return err_fold(r);
        if (!reference.name == !reference.index.is_set)
                return refuse_parameter(door, key, "Give either \"name\" or \"fileDescriptor\".");
        r = door->open(door->userdata, key, &reference, &ret->fd);
        if (r == 0 && !order_set_label(order, ret, reference.label))
                r = refuse_parameter(door, key, "The labels are too long.");
        if (ret_to)
                *ret_to = reference.to;
        return r;
}

static const char *const format_names[] = {
        [ORDER_FORMAT_KTSTR] = "ktstr",
        [ORDER_FORMAT_NDJSON] = "ndjson",
};

int order_set_format(const OrderDoor *door, const char *name, AnalysisOrder *order) {
        order->format = (OrderFormat) name_find(span_of(name), format_names, _ORDER_FORMAT_MAX);
        if (order->format == _ORDER_FORMAT_MAX)
                return refuse_parameter(door, "format",
                                        "Formats to convert into are ktstr and ndjson.");
        return 0;
}

int order_decode(const OrderDoor *door, json_object *parameters, Order *order) {
        char complaint[VIEW_COMPLAINT_BYTES];
        AnalysisOrder *analysis = &order->analysis;
        AnalysisFields fields = { .alpha = DEFAULT_ALPHA };
        const struct Call *call = calls;
        OrderReference output = { .name = NULL };
        const char *culprit;
        size_t n_snapshots = 0;
        int r;

        while (call->method != order->method)
                call++;
        r = parameters_decode(parameters, call->parameters, call->n_parameters, &fields, &culprit);
        if (r == PARAMETERS_E_INVALID)
                return refuse_parameter(door, culprit, NULL);
        if (r != 0)
                return err_fold(r);
        if (call->streams && !order->more)
                return door->refuse(door->userdata, WIRE_ERROR_EXPECTED_MORE, NULL);
        /* A reference to an interval names two snapshots; one that is wrong may count for two. */
        for (unsigned i = 0; i < call->n_sides; i++) {
                json_object *side = fields.sides[i];

                if (!json_object_is_type(side, json_type_array))
                        continue;
                for (size_t at = 0; at < json_object_array_length(side); at++)
                        n_snapshots += json_object_object_get_ex(
                                               json_object_array_get_idx(side, at), "to", NULL)
                                               ? 2
                                               : 1;
                if (n_snapshots > LIMIT_SNAPSHOTS_PER_CALL)
                        return refuse_parameter(door, call->parameters[i].key,
                                                "One call cannot take so many snapshots.");
        }
        for (unsigned i = 0; i < call->n_sides; i++) {
                json_object *side = fields.sides[i];
                bool is_array = json_object_is_type(side, json_type_array);
                size_t n = is_array ? json_object_array_length(side) : 1;

                for (size_t at = 0; at < n; at++) {
                        json_object *one = is_array ? json_object_array_get_idx(side, at) : side;
                        OrderSubject *subject =
                                &analysis->subjects[analysis->n[0] + analysis->n[1]];
                        json_object *to = NULL;

                        r = order_decode_file(door, call->parameters[i].key, one, analysis,
                                              &subject->from, call->of_intervals ? &to : NULL);
                        if (r == 0 && to)
                                r = order_decode_file(door, "to", to, analysis, &subject->to, NULL);
                        if (r != 0)
                                return r;
                        analysis->n[i]++;
                }
        }
        if (order->method == ORDER_CONVERT) {
                output.index = fields.output;
                r = order_set_format(door, fields.format, analysis);
                if (r == 0)
                        r = door->open(door->userdata, "output", &output, &analysis->output);
                if (r != 0)
                        return r;
        }
        for (size_t i = 0; fields.places && i < json_object_array_length(fields.places); i++) {
                const char *text =
                        json_object_get_string(json_object_array_get_idx(fields.places, i));
                unsigned place = name_find(span_of(text), places, _RECORD_PLACE_MAX);

                if (place == _RECORD_PLACE_MAX)
                        return refuse_parameter(door, "places", "There is no such place.");
                analysis->places |= UINT64_C(1) << place;
        }
        if (fields.wakers && fields.histogram)
                return refuse_parameter(door, "histogram",
                                        "Histograms do not tell who ended waits.");
        analysis->stacks = fields.stacks;
        analysis->wakers = fields.wakers;
        analysis->course = fields.course;
        analysis->histogram = fields.histogram;
        analysis->lines = fields.lines;
        analysis->alpha = fields.alpha;
        analysis->limit = fields.limit.is_set ? fields.limit.value : 0;
        analysis->files = fields.files.is_set && fields.files.value;
        r = view_decode(fields.view, &analysis->view, complaint);
        if (r == VIEW_E_INVALID)
                return refuse_parameter(door, "view", complaint);
        return err_fold(r);
}

/* results */

int result_pack(Buffer *buffer, const Span *texts, size_t n) {
        for (size_t i = 0; i < n; i++) {
                buffer_append(buffer, texts[i].bytes, texts[i].n);
                buffer_append_byte(buffer, '\0');
        }
        return buffer_failure(buffer);
}

bool result_unpack(Span body, Span *ret_texts, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *end = body.n > 0 ? memchr(body.bytes, '\0', body.n) : NULL;

                if (!end)
                        return false;
                ret_texts[i] = (Span){ body.bytes, (size_t) (end - body.bytes) };
                body = (Span){ end + 1, body.n - ret_texts[i].n - 1 };
                if (!utf8_is_valid(ret_texts[i]))
                        return false;
        }
        return body.n == 0;
}

bool objects_result_unpack(Span body, ObjectsResult *ret) {
        if (body.n != sizeof(*ret))
                return false;
        memcpy(ret, body.bytes, sizeof(*ret));
        if (ret->n > _TASK_OBJECT_MAX || !memchr(ret->reason, '\0', sizeof(ret->reason)) ||
            !utf8_is_valid(span_of(ret->reason)))
                return false;
        for (uint32_t i = 0; i < ret->n; i++)
                if (ret->objects[i] >= _TASK_OBJECT_MAX)
                        return false;
        return true;
}

bool record_result_unpack(Span body, RecordResult *ret) {
        if (body.n != sizeof(*ret))
                return false;
        memcpy(ret, body.bytes, sizeof(*ret));
        return ret->ended_by < _RECORD_END_MAX && unclocked_time_is_valid(&ret->unclocked);
}
