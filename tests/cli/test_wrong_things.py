"""Wrong command lines and other errors of new users: one line with the remedy, and the right exit
status.
"""

import csv
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier, save_model

# the status, the command, and a part of what it says; in the folder of the fixture below
WRONG = """
# command lines and files that are not what they should be
2 trian letters/train => Did you mean train?
2 train => SOURCE
2 train letters/train --modle bernoulli => --mod
2 train letters/train --model bernuli -o m => bernuli
2 train letters/train --smoothing -1 -o m => --smoothing
2 train letters/train --smoothing lots -o m => lots
2 train letters/train --ngrams 2,1 -o m => --ngrams
2 train letters/train --token-pattern ( -o m => --token-pattern
2 train letters/train --prior 1,2 -o m => 6 numbers from 1e-100 to 1e+100
2 train letters/train --min-df 1000 -o m => --min-df: 1,000 is more than the number of documents
2 train letters/train --min-df -1 -o m => --min-df: -1 is neither a number of documents nor a proportion
2 train letters/train --min-df nan -o m => --min-df: nan is neither a number of documents nor a proportion
1 train letters/train --stop-words English -o m => or a file with one word per line
2 train letters/train --encoding klingon -o m => klingon
1 train letters/train --stop-words nowhere.txt -o m => nowhere.txt: cannot be read: no such file or directory; give `english`
1 train letters/train --vocabulary nowhere.txt -o m => nowhere.txt: cannot be read: no such file or directory; give a file with one
1 train missing -o m => missing
1 train empty -o m => empty
1 train no-such-column.csv -o m => no-such-column.csv
1 train broken.jsonl -o m => broken.jsonl:17
1 train unlabeled.txt -o m => unlabeled.txt:1: the document has no label
1 evaluate gap.jsonl -m letters.joblib --label-field day =>
    gap.jsonl:2: the document has no label; its keys or columns are: text, label, day; name the key
1 evaluate gap.csv -m several.joblib --label-field day => gap.csv:3: the document has no label; its keys or columns are
1 evaluate gap.csv --predictions gap.tsv --label-field day =>
    gap.csv:3: the document has no label; its keys or columns are: text, label, day
1 compare gap.csv -m letters.joblib -m complement.joblib --label-field day =>
    gap.csv:3: the document has no label; its keys or columns are: text, label, day
1 train unicode.txt -o m => unicode.txt:1: the document has no label; give --delimiter $'\\t' if it is a table
2 train unicode.txt --label-field label -o m => --label-field: does not apply: SOURCE has texts without fields
1 train letter.docx -o m => letter.docx: is an office document, not text; save it
1 evaluate letter.docx --folds 2 => letter.docx: is an office document, not text
1 train letter.pdf -o m =>  PDF file, not text;
1 train short.tsv -o m => short.tsv:3
1 train letters/nowhere -o missing/m => missing/m: cannot be written: no such file or directory; make its
1 train letters/nowhere -o empty => empty: cannot be written: is a directory; name a file in it
2 train letters/train -o '' => -o: the path is empty; name a file
2 train '' -o x => SOURCE: the path is empty; name a file or directory
2 predict letters/test -m '' => -m: the path is empty
1 train letters/nowhere -o text.joblib/m => text.joblib/m: cannot be written: not a directory
1 vectorize letters/nowhere -o missing/m => missing/m: cannot be written
1 merge nowhere -o missing/m => missing/m: cannot be written
1 update nowhere letters/test -o missing/m => missing/m: cannot be written
1 evaluate letters/nowhere --folds 2 --report missing/m => missing/m: cannot be written
1 explain letters/nowhere -m nowhere -o missing/m.html => missing/m.html: cannot be written
1 compare letters/nowhere --report missing/m => missing/m: cannot be written
2 compare letters/train --models gaussian --hash-bits 30 => --hash-bits: 30 is more than 24; memory holds all
1 train letters/train --model gaussian --hash-bits 22 -o m => gaussian model of 6 labels and 4,194,304 features is
2 train letters/train --hash-bits 25 -o m => --hash-bits: 25 is more than 24; memory holds all columns
2 vectorize letters/train --hash-bits 25 -o m => --hash-bits: 25 is more than 24
2 train letters/train --hash-bits 31 -o m => --hash-bits: 31 is not a valid value; give a number from 1 to 24
2 train letters/train --hash-bits 0 -o m => --hash-bits: 0 is not a valid value; give a number from 1 to 24
2 evaluate letters/train --folds 3 --model categorical --hash-bits 24 => 24 is more than 23; memory
2 predict letters/test => -m
2 predict letters/test -m text.joblib -j 10000000000000000000000000000000000000000 =>
    is not a valid value; give a number from 1 to 4,096
2 sample -m text.joblib --length 10000000000000000000000000000000000000000 =>
    is not a valid value; give a number from 1 to 10,000,000
2 sample -m text.joblib -n 10000000000000000000000000000000000000000 =>
    is not a valid value; give a number from 1 to 4,611,686,018,427,387,904
1 predict letters/test -m missing.joblib => missing.joblib
1 predict letters/test -m txt.joblib => did you mean text.joblib?
1 predict letters/test -m link.joblib => link.joblib: is a symbolic link to a file that does not exist; correct its
1 train link.joblib -o m => link.joblib: cannot be read: no such file or directory; did you mean
1 train xyz/no_such -o m => xyz/no_such: cannot be read: no such file or directory; check the path
1 predict letters/tset -m text.joblib => text.joblib: looks like text
1 train letters/trian -o m => did you mean letters/train?
1 explain letters/test -m missing.joblib => missing.joblib
1 inspect missing.joblib => missing.joblib
1 inspect zip.joblib => zip.joblib
2 inspect text.joblib --by zz => zz
1 diff text.joblib text.joblib => text.joblib: looks like text
2 compare letters/train --models bernouli => --models: 'bernouli' is not a model; did you mean bernoulli?
2 compare letters/train --sizes many => write 50,100,200
2 compare letters/train --sizes 336 => leave some for the test
1 predict letters/test -m text.joblib => text.joblib: looks like text
1 predict letters/test -m zip.joblib => zip.joblib: is not a model
1 predict letters/test -m empty.joblib => empty.joblib: the file is empty
1 predict letters/test -m letters => letters
# outputs whose names end with a format that they do not have
2 predict texts.tsv -m letters.joblib -o p.parquet =>
    -o: the result cannot have this format; p.parquet says .parquet; name a file that ends with .jsonl, .ndjson, .json,
2 predict texts.tsv -m letters.joblib -o p.xlsx.gz => -o: the result cannot have this format; p.xlsx.gz says .xlsx
2 predict texts.tsv -m letters.joblib --add-columns -o p.md => -o: the rows are written as tsv, the format of SOURCE;
2 evaluate letters/test -m letters.joblib -o e.html => -o: the result cannot have this format; e.html says .html
2 evaluate letters/test -m letters.joblib --report e.pdf => --report: the page is HTML; e.pdf says .pdf; name a
2 compare texts.tsv --report e.csv => --report: the page is HTML; e.csv says .csv; name a file that ends with .html
2 explain texts.tsv -m letters.joblib -o e.db => -o: the result cannot have this format; e.db says .db
2 inspect letters.joblib -o i.npz => -o: the result cannot have this format; i.npz says .npz
2 review texts.tsv -o r.joblib => -o: the result cannot have this format; r.joblib says .joblib
2 vectorize texts.tsv -o m.csv => -o: the result cannot have this format; m.csv says .csv; name a file that ends
2 label texts.tsv -o labels.csv => -o: answers are JSON lines; labels.csv says .csv; name a file that ends with .jsonl
1 predict letters/test -m letters.joblib --cost nowhere.csv => nowhere.csv: cannot be read: no such file or directory; check
2 evaluate letters/test -m letters.joblib --report - => the page and the result cannot both go to standard output; name a
2 evaluate letters/test => --folds
2 evaluate letters/test -m letters.joblib --foreign letters/train => No such option '--foreign'; try: nbtext evaluate
2 evaluate letters/test --folds 1 => --folds
2 evaluate letters/test --folds 1000 => --folds
2 evaluate four.csv --folds 10 => 10 folds need at least as many documents; found 4; use 2 to 4
2 evaluate two.csv --folds 3 => 3 folds need at least as many documents; found 2; use 2
2 predict letters/test -m model.joblib --text-field , => ',' contains no name; separate several names with
2 evaluate letters/test --folds 3 --fail-under accuracy=85 => the highest value is 1; write accuracy=0.85
2 evaluate letters/test --folds 3 --fail-under accuracy=1.5 => 'accuracy=1.5' cannot be reached: the highest value is 1;
2 evaluate letters/test --folds 3 --fail-under acuracy=1 => did you mean accuracy
# limits of document frequency: the option that was given is named
2 train four.csv --min-df 50 -o m => --min-df: 50 is more than the number of documents, 4
2 train four.csv --min-df 3 --max-df 2 -o m =>
    --max-df: 2 allows 2 documents of 4, but --min-df 3 needs 3; raise --max-df, or lower --min-df
2 vectorize four.csv --min-df 50 -o m => --min-df: 50 is more than the number of documents, 4
2 vectorize four.csv --min-df 3 --max-df 2 -o m =>
    --max-df: 2 allows 2 documents of 4, but --min-df 3 needs 3; raise --max-df, or lower --min-df
# options without effect on this command line
2 train texts.tsv --cluster local --model svm -o m =>
    --cluster: cannot be combined with --model svm, because workers count for one Naive Bayes model, and this one is
    trained on one machine; leave out one of them
2 predict texts.tsv -m letters.joblib --explain 3 --cluster local => --explain: needs the output format jsonl or json
2 train letters.joblib --cluster local -o m =>
    --cluster: does not apply: SOURCE is a model, whose documents are already counted
2 train matrix.npz --text-field body -o m =>
    --text-field: does not apply: SOURCE is a matrix, whose documents are already counted
2 train matrix.npz --cluster local -o m =>
    --cluster: does not apply: SOURCE is a matrix, whose documents are already counted
2 train matrix.npz --weighting tfidf -o m =>
    --weighting: does not apply: SOURCE is a matrix, whose documents are already counted
2 compare matrix.npz --label-field topic =>
    --label-field: does not apply: SOURCE is a matrix, whose documents are already counted
2 compare texts.tsv -m letters.joblib -m letters.joblib --C 3 =>
    --C: does not apply: the models of -m are already trained
2 compare texts.tsv --report - => --report: the page and the result cannot both go to standard output; name a file
2 evaluate texts.tsv -m letters.joblib --smoothing 3 =>
    --smoothing: does not apply: it is used only in cross-validation (--folds)
2 evaluate texts.tsv -m letters.joblib --min-df 2 =>
    --min-df: does not apply: it is used only in cross-validation (--folds)
2 evaluate texts.tsv -m letters.joblib --seed 2 => --seed: does not apply: it is used only in cross-validation (--folds)
2 evaluate texts.tsv --predictions p.jsonl --model nbsvm =>
    --model: does not apply: it is used only in cross-validation (--folds)
2 evaluate texts.tsv --predictions p.tsv --coverage 0.9 =>
    --coverage: cannot be combined with --predictions, because predictions are final: nbtext predict has this option; leave out one of them
2 inspect matrix.npz --word red => --word: does not apply: the file is a matrix, not a model
2 inspect matrix.npz --label x => --label: does not apply: the file is a matrix, not a model
2 inspect matrix.npz --by z => --by: does not apply: the file is a matrix, not a model
2 train letters/train --C 3 -o m => --C: does not apply: auto does not use it; leave out this option
2 train letters/train --model nbsvm --smoothing 1 -o m =>
    --smoothing: does not apply: nbsvm does not use it; leave out this option
2 train letters/train --model nbsvm --prior uniform -o m =>
    --prior: does not apply: nbsvm does not use it; leave out this option
2 train letters/train --model nbsvm --C 0 -o m =>
    --C: 0 is not a valid value; give auto, or a number from 1e-20 to 1e+20
2 train letters/train --model nbsvm --C much -o m => Invalid value for '--C': 'much' is neither a number nor `auto`
# other models of the counts of a model
1 train letters.joblib --model nbsvm -o m =>
    nbsvm needs the counts of each document, which the model file does not hold; train
1 train letters.joblib --model categorical -o m => categorical needs the counts of each document
2 train letters.joblib --ngrams 1,2 -o m =>
    --ngrams: does not apply: SOURCE is a model, whose documents are already counted
2 train letters.joblib --weighting binary -o m =>
    --weighting: does not apply: SOURCE is a model, whose documents are already counted
2 train letters.joblib --text-field body -o m =>
    --text-field: does not apply: SOURCE is a model, whose documents are already counted
1 train letters.joblib --optimize macro_f1 -o m =>
    --optimize: needs retained documents, and the model has none; train with
2 train letters.joblib --smoothing -1 -o m =>
    --smoothing: -1 is not a valid value; give 0, or a number from 1e-100 to 1e+100
2 train letters.joblib --model best -o - =>
    --model: best needs texts, but SOURCE is a model, which holds only counts; name a model
1 train letters.joblib --model auto -o - =>
    --model auto: needs retained documents, and the model has none; train with
# searches
2 train matrix.npz --input-format matrix --model best -o m =>
    --model: best needs texts, but SOURCE is a matrix; give texts
2 compare letters/test -m letters.joblib => needs at least two models
1 compare letters/test -m letters.joblib -m complement.jobli => complement.jobli: does not exist; did you mean complement.joblib?
2 compare letters/test -m letters.joblib -m complement.joblib --sizes 10 =>
    --sizes: does not apply: the models of -m are already trained
2 compare letters/test -m letters.joblib -m complement.joblib --min-df 2 =>
    --min-df: does not apply: the models of -m are already trained
2 compare letters/test -m letters.joblib -m complement.joblib --smoothing 2 =>
    --smoothing: does not apply: the models of -m are already trained
2 train texts.tsv --model best --C 2 -o m => --C: cannot be combined with --model best, because a search chooses the
2 evaluate texts.tsv --folds 2 --model best --C 3 => --C: cannot be combined with --model best
# decisions
2 predict letters/test -m letters.joblib --min-probability 2 =>
    --min-probability: 2 is not a valid value; give a number from 0 to 1
2 predict letters/test -m letters.joblib --coverage 1 => --coverage: 1 is not above 0 and below 1
2 predict letters/test -m letters.joblib --coverage 95% => '95%'
2 predict texts.tsv -m letters.joblib --top-k 0 => --top-k: 0 is not a valid value; give a number from 1 to 1,000
2 predict texts.tsv -m letters.joblib --top-k -1 => --top-k: -1 is not a valid value; give a number from 1 to 1,000
2 predict texts.tsv -m letters.joblib --top-k 1001 => --top-k: 1001 is not a valid value; give a number from 1 to 1,000
2 predict texts.tsv -m several.joblib --min-probability 0.5 =>
    --min-probability: cannot be used with a multi-label model
2 predict texts.tsv -m several.joblib --threshold 0.5 --threshold 0.6 => a label has two thresholds
2 predict texts.tsv -m several.joblib --threshold foot=0.5 => the model has no label 'foot'
2 predict texts.tsv -m letters.joblib --threshold 0.5 => --threshold: cannot be used with a single-label model
2 predict texts.tsv -m letters.joblib --at-least-one => --at-least-one: cannot be used with a single-label model
# documents that are held out, in groups, or in an order
1 train t.csv --where text=blue -o m =>
    SOURCE has no documents to train on; skipped 5: left out by --where text=blue
1 evaluate threads.jsonl --group-field thred => threads.jsonl:1: the document has no `thred`
1 evaluate threads.csv --group-field thred => no column `thred`; the columns are: label, text, thread, day
1 evaluate gap.jsonl --order-field day => gap.jsonl:2: the document has no `day`
1 evaluate gap.csv --order-field day => gap.csv:3: the document has no `day`
1 evaluate threads.csv --order-field thred => name the column with --order-field
1 evaluate gap.jsonl --order-field day => --order-field needs a value for each document
1 evaluate threads.csv --group-field thred => name the column with --group-field
1 evaluate gap.jsonl --group-field day => --group-field needs a value for each document
2 train threads.jsonl -o m --group-field thread => No such option '--group-field'
2 evaluate letters --group-field thread => 001.txt has no field `thread`
2 evaluate threads.jsonl --group-field thread -m m =>
    give exactly one of -m MODEL, --predictions FILE, --predicted-field NAME or cross-validation
2 evaluate threads.jsonl --group-field label --folds 7 => 7 folds need 7 groups; found 6
2 evaluate same.jsonl --order-field day => all documents have the same timestamp
2 evaluate threads.jsonl --order-field '' --folds 3 => --order-field
# models that change
1 merge a.joblib a.joblib c.joblib -o m =>
    a.joblib and c.joblib: the models have different settings: ngrams is 1,1 and 1,2; train them with
1 merge a.joblib t.joblib -o m => idf is none and smooth
1 merge t.joblib t.joblib -o m => t.joblib: a model with a norm
1 update t.joblib letters/test => --keep-sample N, where N is at least the number of documents
1 calibrate t.joblib letters/test => train it again
1 update w.joblib letters/test => this one does not retain all documents
1 update s.joblib letters/test => a matrix of weights
1 update missing.joblib letters/test => missing.joblib
2 update a.joblib => SOURCE
1 update a.joblib empty => empty
1 update a.joblib lines.txt => lines.txt: the document has no label
1 update ints.joblib words.csv => the label 'nine' is not int, and the labels of the model are; correct it
2 merge => MODEL
2 train letters/train --keep-sample 0 -o m => --keep-sample
1 train w.svmlight --keep-sample 5 -q -o m => --keep-sample needs the counts of all features
# unlabeled documents and keywords
2 train texts.tsv --em 10 -o m => --unlabeled
2 train texts.tsv --unlabeled lines.txt -o m => --unlabeled: needs --em or --keywords or --vectors
2 train texts.tsv --unlabeled lines.txt --em 0 -o m => --em
2 train texts.tsv --max-model-bytes 9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999 -o m => --max-model-bytes
2 train texts.tsv --unlabeled lines.txt --em 5 --model complement -o m => leave it out, or use multinomial, dirichlet or bernoulli
2 train texts.tsv --unlabeled lines.txt --em 5 --model nbsvm -o m => leave it out, or use multinomial, dirichlet or bernoulli
2 train texts.tsv --unlabeled lines.txt --em 5 --model best -o m => --model
2 train texts.tsv --unlabeled lines.txt --em 5 --weighting tfidf -o m => a weighting other than
2 train texts.tsv --unlabeled lines.txt --em 5 --smoothing 0 -o m => --smoothing
2 train texts.tsv --unlabeled lines.txt --em 5 --cluster local -o m => --cluster
2 train texts.tsv --unlabeled - --unlabeled - --em 5 -o m => standard input
2 train lines.txt --keywords keywords.toml --model bernoulli -o m => --model
2 train lines.txt --keywords keywords.toml --model best -o m => --keywords
2 train lines.txt --keywords keywords.toml --hash-bits 10 -o m => --hash-bits
2 train lines.txt --keywords keywords.toml --weighting tfidf -o m => --weighting
2 train lines.txt --keywords keywords.toml --optimize accuracy -o m => --optimize
2 train lines.txt --keywords keywords.toml --keep-sample 5 -o m => --keep-sample
2 train lines.txt --keywords keywords.toml --min-recall sport=0.9 -o m => --min-recall
2 train lines.txt --keywords keywords.toml --smoothing 0 -o m => --smoothing
# other commands
2 sample letters.joblib --label trsh => the model has no label 'trsh'; did you mean trash?
2 sample letters.joblib --length 0 => --length
2 sample letters.joblib -n 0 => -n
2 sample letters.joblib --seed -1 => --seed
1 sample complement.joblib => this complement model cannot generate documents
2 serve => Missing option '-m' / '--model-file'; try: nbtext serve --help
1 serve -m nothing => nothing: does not exist; nbtext train SOURCE -o MODEL writes a model
1 serve -m texts.tsv => texts.tsv: looks like text, not a model; give the file that nbtext train wrote
2 serve -m - => '-' does not name a file; write MODEL or NAME=MODEL
# no document can be read
1 predict keyless.jsonl -m letters.joblib -q -o out => keyless.jsonl:1: none of 2 documents can be read; the first: no key `text`
2 predict keyless.jsonl -m letters.joblib --exit-status ham => the model has no label 'ham'
1 predict keyless.jsonl -m letters.joblib --add-columns --column-prefix p_ -o out.jsonl => none of 2 documents can be read
1 predict letter.pdf -m letters.joblib -o out => letter.pdf: is a PDF file, not text; extract its text first
1 explain keyless.jsonl -m letters.joblib -o out => keyless.jsonl:1: none of 2 documents can be read; the first: no key
1 prevalence keyless.jsonl -m letters.joblib => keyless.jsonl:1: none of 2 documents can be read; the first: no key
1 review keyless.jsonl => keyless.jsonl:1: none of 2 documents can be read; the first: no key `text`, found body, label; name
1 review two.csv --against keyless.jsonl => keyless.jsonl:1: none of 2 documents can be read; the first: no key
1 train keyless.jsonl -o m => keyless.jsonl:1: no key `text`, found body, label; name the column or key
2 serve -m letters.joblib -m letters.joblib => -m: two models have the same name
2 serve -m letters.joblib --host 0.0.0.0 =>
    --host: 0.0.0.0 is not a loopback address, so requests need a token; give --token-file
1 serve -m letters.joblib --host 0.0.0.0 --token-file texts.tsv => texts.tsv:1: is not a token; write one on a line
1 serve -m letters.joblib --token-file nothing => nothing: cannot be read: no such file
1 serve -m letters.joblib --host no.such.host.invalid --insecure => no.such.host.invalid:8000: cannot listen:
2 serve -m letters.joblib --port 99999 => --port: 99999 is not a valid value; give a number from 0 to 65,535
2 serve -m letters.joblib --timeout 0 => --timeout: 0 is not a valid value
"""


@pytest.fixture(scope="module")
def folder(
    nbtext: Any, letters: Path, model: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The files of the command lines: sources, models and matrices, and what only looks like
    them.
    """
    folder: Path = tmp_path_factory.mktemp("wrong")
    (folder / "empty").mkdir()
    (folder / "letters").symlink_to(letters)
    (folder / "link.joblib").symlink_to("nowhere")
    for name, text in {
        "no-such-column.csv": "subject,topic\nhello,greeting\n",
        "broken.jsonl": '{"text": "a word", "label": "x"}\n' * 16 + '{"text": "oops\n',
        "keyless.jsonl": '{"body": "a", "label": "x"}\n{"body": "b", "label": "y"}\n',
        "text.joblib": "no model at all\n",
        "zip.joblib": "PK\3\4 and more",
        "empty.joblib": "",
        "unlabeled.txt": "just a line\n",
        "letter.pdf": "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
        "four.csv": "text;label\na text;x\nanother;y\na third;x\na fourth;y\n",
        "two.csv": "text,label\na text,x\nanother,y\n",
        "short.tsv": "text\tlabel\na text\tx\nonly text\n",
        "texts.tsv": "text\tlabel\nred round\tapple\nlong yellow\tbanana\n",
        "p.tsv": "texts.tsv:2\tapple\t0.9\ntexts.tsv:3\tbanana\t0.8\n",
        "t.csv": "text,label\n" + "red round,a\nyellow long,b\n" * 2 + "red,a\n",
        "lines.txt": "no label\nthe goal\nthe bank\n",
        "keywords.toml": 'money = ["bank"]\nsport = ["goal"]\n',
        "words.csv": "text,label\nred round,9\nlong,nine\n",
        "several.jsonl": '{"text": "red", "label": ["a", "b"]}\n{"text": "blue", "label": ["a"]}\n',
        "gap.jsonl": '{"text": "a b", "label": "x", "day": 1}\n{"text": "a b", "label": "x", "day": null}\n',
        "gap.tsv": "gap.csv:2\t1\t0.9\ngap.csv:3\t1\t0.8\n",
        "gap.csv": "text,label,day\nred one,x,1\nred two,y,\n",
        "same.jsonl": '{"text": "red one", "label": "x", "day": "2024-01-01"}\n' * 3,
    }.items():
        (folder / name).write_text(text, encoding="latin-1", newline="")
    (folder / "unicode.txt").write_text("text\tlabel\na text\tx\n", encoding="utf-16")
    with zipfile.ZipFile(folder / "letter.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<w:t>Dear town hall</w:t>")
    threads = [
        {
            "label": path.parent.name,
            "text": path.read_text(),
            "thread": path.stem,
            "day": int(path.stem),
        }
        for path in letters.glob("test/*/*.txt")
    ]
    write_rows(folder / "threads.jsonl", threads)
    with (folder / "threads.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, threads[0])
        writer.writeheader()
        writer.writerows(threads)
    (folder / "letters.joblib").write_bytes(Path(model).read_bytes())
    save_model(
        TextClassifier().fit(["red round", "yellow long"] * 2, [9, 10] * 2),
        str(folder / "ints.joblib"),
    )
    for command in (
        "vectorize texts.tsv -o matrix.npz",
        "vectorize t.csv -o t.npz",
        "train several.jsonl -o several.joblib",
        "train letters/test --model complement -o complement.joblib",
        "train letters/train -o a.joblib",
        "train letters/train --ngrams 1,2 -o c.joblib",
        "train letters/train --weighting tfidf -o t.joblib",
        "vectorize letters/train --weighting tfidf -o w.npz",
        "train w.npz -o w.joblib",
        "vectorize letters/train --weighting tfidf -o w.svmlight",
        "train w.svmlight -o s.joblib",
    ):
        nbtext(*command.split(), "-q", cwd=folder).ok()
    return folder


def read_table(table: str) -> Iterator[tuple[int, str, str]]:
    """Yield status, command and message; a long message stands on a line of its own."""
    for entry in re.findall(r"^\d .* =>\s+.*", table, re.MULTILINE):
        command, _, message = entry.partition(" =>")
        yield int(command[0]), command[2:], message.strip()


@pytest.mark.parametrize(("status", "command", "message"), list(read_table(WRONG)))
def test_one_line_that_helps(
    nbtext: Any, folder: Path, status: int, command: str, message: str
) -> None:
    """One line on standard error names what is wrong; nothing is written, and no traceback is
    shown.
    """
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.exists()}
    nbtext(*shlex.split(command), cwd=folder).refused(status, message)
    assert {
        path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.exists()
    } == before


def test_standard_output_to_a_full_disk(model: str, letters: Path) -> None:
    """The same where the shell redirects standard output."""
    command = f"{sys.executable} -m nbtext predict {letters}/test -m {model} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"nbtext: standard output: cannot be written")
    assert done.stderr.count(b"\n") == 1


def test_a_text_in_place_of_a_file(nbtext: Any, model: str) -> None:
    """The message shows how a text is predicted."""
    result = nbtext("predict", "where is my card", "-m", model).refused(1)
    assert result.err == (
        "nbtext: where is my card: cannot be read: no such file or directory; check the path; "
        "to predict a text: echo … | nbtext predict -\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.exhaustive(every=7)
@pytest.mark.parametrize("messages", ["/dev/full", "&-"])
@pytest.mark.parametrize(
    "command",
    """train {letters}/train -o o
train {letters}/train -v -o o
train {letters}/train --model best -o o
update {model} {letters}/test -o o
merge {model} {model} -o o
calibrate {model} {letters}/test -o o
review {letters}/test -o o
predict {letters}/test -m {model} -v -o o
compare {letters}/train -o o
vectorize {letters}/test -o o
evaluate {letters}/test -m {model} -o o
demo o
train nowhere -o o
export {model} --to js -o o
train --nonsense""".splitlines(),
)
def test_messages_that_cannot_be_written(
    letters: Path, model: str, tmp_path: Path, command: str, messages: str
) -> None:
    """A command whose standard error is full or closed does the same work, with the same status."""
    found = []
    for folder, target in (("usual", "log"), ("lost", messages)):
        (tmp_path / folder).mkdir()
        line = (
            f"{sys.executable} -m nbtext {command.format(letters=letters, model=model)} 2>{target}"
        )
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path / folder, capture_output=True, check=False
        )
        (tmp_path / folder / "log").unlink(missing_ok=True)
        files = [path for path in (tmp_path / folder).rglob("*") if path.is_file()]
        found.append(
            (done.returncode, done.stdout, {path.name: path.read_bytes() for path in files})
        )
    assert found[0] == found[1]


def test_only_given_limits_are_blamed(nbtext: Any, tmp_path: Path) -> None:
    """Without --max-df, nobody is told to raise it."""
    (tmp_path / "t.tsv").write_text("label\ttext\na\tone word\nb\ttwo words\n")
    result = nbtext("train t.tsv --min-df 2 -o m")
    assert (result.status, "--max-df" in result.err) == (1, False)
    assert "lower --min-df" in result.err


LABELED = '{"id": "t-1", "text": "red", "label": "a"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.jsonl",
            LABELED + '{"id": "t-2", "text": "green", "class": "b"}\n',
            "x.jsonl:2: the document has no label; its keys or columns are: id, text, class; name the key",
        ),
        (
            "x.jsonl",
            LABELED + '\n{"id": "t-2", "text": "green", "label": null, "meta": {"a": [1]}}\n',
            "x.jsonl:3: the document has no label; its keys or columns are: id, text, label, meta;",
        ),
        (
            "x.csv",
            'id,text,class\n"7","red\napple",b\n',
            "x.csv:2: the document has no label; its keys or columns are: id, text, class; name the key",
        ),
        (
            "x.jsonl",
            LABELED + '{"id": "t-2", "text": "red", "label": "%s"}\n' % ("x" * 1001),
            "x.jsonl:2: the label xxx",
        ),
        (
            "x.tsv",
            "text\tlabel\tid\nred\t%s\tt-1\n" % ("x" * 10_000_000),
            "x.tsv:2: the label xxxxxxxxxxxxxxxxxxxx",
        ),
    ],
)
def test_training_names_file_and_line(
    nbtext: Any, tmp_path: Path, name: str, content: str, message: str
) -> None:
    """Errors name file and line, also if documents have ids."""
    (tmp_path / name).write_text(content)
    assert len(nbtext(f"train {name} -o m.joblib").refused(1, message).err) < 400


def test_evaluate_says_why_a_document_cannot_be_read(
    nbtext: Any, model: str, tmp_path: Path
) -> None:
    """A document that cannot be read has no label either, but that is not the reason."""
    (tmp_path / "t.jsonl").write_text('{"label": "noise", "text": [1]}\n')
    nbtext(f"evaluate t.jsonl -m {model}").refused(1, "t.jsonl:1: `text` is a list")


@pytest.mark.parametrize(
    "command",
    """train x.csv -o m.joblib --model svm
train x.csv -o m.joblib --model nbsvm --label-separator ;
train x.csv -o m.joblib --model logistic
train x.csv -o m.joblib --model stacked
train x.csv -o m.joblib --model best
train x.csv -o m.joblib --em 2 --unlabeled x.csv
evaluate x.csv --folds 2
evaluate x.csv --folds 2 --model best
evaluate x.csv --folds 2 --label-separator ;
compare x.csv
review x.csv""".splitlines(),
)
def test_more_labels_than_all_documents_are_compared_with(
    nbtext: Any, tmp_path: Path, command: str
) -> None:
    """Each label costs passes over all documents, so time grows with labels × documents."""
    rows = "".join(f"w{number % 7},label{number // 2}\n" for number in range(60_000))
    (tmp_path / "x.csv").write_text(f"text,label\n{rows}")
    nbtext(command).refused(
        2, "compares all documents with each of the 30,000 labels, at most 16,384"
    )
